// cuda/launches chain: one launch for each step, as a framework runs it eagerly. The first reads x,
// all others read and write y in place.
#include "kernels/catalog/chain_steps.h"
#include "kernels/cuda/chain_words.cuh"
#include "kernels/cuda/dtypes.h"
#include "kernels/cuda/implementations.h"

namespace kbench {
namespace cuda {
namespace {

using ChainDTypes = DTypes<DType::kFp32, DType::kFp16, DType::kBf16>;

// All threads take the same way through the switch.
struct OneStep {
  int operation;

  template <int kOperation, int kCount>
  __device__ static void Do(float (&values)[kCount]) {
#pragma unroll
    for (int j = 0; j < kCount; ++j) values[j] = ChainStep(kOperation, values[j]);
  }
  template <int kCount>
  __device__ void operator()(float (&values)[kCount]) const {
    switch (operation) {
      case 0:
        return Do<0>(values);
      case 1:
        return Do<1>(values);
      case 2:
        return Do<2>(values);
      case 3:
        return Do<3>(values);
      default:
        return Do<4>(values);
    }
  }
};

// x and y may be the same.
template <DType D, int kElements>
__global__ void __launch_bounds__(kChainThreads)
    ChainStepKernel(const typename Element<D>::Storage* x, typename Element<D>::Storage* y,
                    std::int64_t n, int operation) {
  ForEachWord<D, kElements, 1>(x, y, n, OneStep{operation});
}

template <DType D, int kElements>
DeviceBody StepsOf(const Problem& problem, const OperandPointers& operands,
                   const Geometry& geometry) {
  using Storage = typename Element<D>::Storage;
  const auto* x = static_cast<const Storage*>(operands.inputs[0]);
  auto* y = static_cast<Storage*>(operands.output);
  const std::int64_t n = problem.shape["n"];
  const int depth = static_cast<int>(problem.shape["depth"]);
  return [=](cudaStream_t stream) {
    for (int step = 0; step < depth; ++step) {
      const cudaError_t error = LaunchKernel(geometry, stream, ChainStepKernel<D, kElements>,
                                             step == 0 ? x : y, y, n, step % kChainCycle);
      if (error != cudaSuccess) return error;
    }
    return cudaSuccess;
  };
}

CreateResult Create(const Problem& problem, const OperandPointers& operands,
                    const DeviceContext& /*context*/) {
  return ChainDTypes::Create(problem.dtype, [&](auto dtype) {
    constexpr DType kDType = decltype(dtype)::value;
    return WithWordsOf<kDType>(operands, [&](auto elements) -> CreateResult {
      constexpr int kElements = decltype(elements)::value;
      const Geometry geometry = ChainGeometry<kElements, 1>(problem.shape["n"]);
      ConfigurationMap configuration;
      const auto* kernel = reinterpret_cast<const void*>(ChainStepKernel<kDType, kElements>);
      if (auto error = LoadKernel(kernel, geometry, configuration)) return *std::move(error);
      configuration["launches"] = std::to_string(problem.shape["depth"]);
      return std::unique_ptr<Instance>(std::make_unique<DeviceInstance>(
          StepsOf<kDType, kElements>(problem, operands, geometry), std::move(configuration)));
    });
  });
}

}  // namespace
}  // namespace cuda

Implementation CudaLaunchesChain() {
  Implementation implementation;
  implementation.name = "cuda/launches";
  implementation.family = "cuda";
  implementation.kernel = "chain";
  implementation.summary = "one launch for each step, as a framework runs it eagerly";
  implementation.dtypes = cuda::ChainDTypes::List();
  implementation.default_choice = true;
  implementation.create = cuda::Create;
  return implementation;
}

}  // namespace kbench
