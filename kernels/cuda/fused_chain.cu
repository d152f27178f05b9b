// cuda/fused chain: one kernel. Every element is read once, goes through all its steps in fp32
// registers and is written once. The compiler contracts scale and shift, and scale and reflection,
// into one instruction each.
#include "kernels/catalog/chain_steps.h"
#include "kernels/cuda/chain_words.cuh"
#include "kernels/cuda/dtypes.h"
#include "kernels/cuda/implementations.h"

namespace kbench {
namespace cuda {
namespace {

using ChainDTypes = DTypes<DType::kFp32, DType::kFp16, DType::kBf16>;

// Two words a thread: with one the loads do not keep the memory busy while the steps run.
constexpr int kWords = 2;

template <int kOperation, int kCount>
__device__ void StepOf(float (&values)[kCount]) {
#pragma unroll
  for (int j = 0; j < kCount; ++j) values[j] = ChainStep(kOperation, values[j]);
}

// The cycle outside, the elements inside: independent chains hide each other's latency.
struct AllSteps {
  int depth;

  template <int kCount>
  __device__ void operator()(float (&values)[kCount]) const {
    int left = depth;
#pragma unroll 1
    for (; left >= kChainCycle; left -= kChainCycle) {
#pragma unroll
      for (int j = 0; j < kCount; ++j) values[j] = Chain(kChainCycle, values[j]);
    }
    if (left > 0) StepOf<0>(values);
    if (left > 1) StepOf<1>(values);
    if (left > 2) StepOf<2>(values);
    if (left > 3) StepOf<3>(values);
  }
};

template <DType D, int kElements>
__global__ void __launch_bounds__(kChainThreads)
    FusedChain(const typename Element<D>::Storage* x, typename Element<D>::Storage* y,
               std::int64_t n, int depth) {
  ForEachWord<D, kElements, kWords>(x, y, n, AllSteps{depth});
}

CreateResult Create(const Problem& problem, const OperandPointers& operands,
                    const DeviceContext& /*context*/) {
  return ChainDTypes::Create(problem.dtype, [&](auto dtype) {
    constexpr DType kDType = decltype(dtype)::value;
    using Storage = typename Element<kDType>::Storage;
    return WithWordsOf<kDType>(operands, [&](auto elements) -> CreateResult {
      constexpr int kElements = decltype(elements)::value;
      const auto* x = static_cast<const Storage*>(operands.inputs[0]);
      auto* y = static_cast<Storage*>(operands.output);
      const std::int64_t n = problem.shape["n"];
      const int depth = static_cast<int>(problem.shape["depth"]);
      const Geometry geometry = ChainGeometry<kElements, kWords>(n);
      return CreateSingleKernel(FusedChain<kDType, kElements>, geometry, [=](cudaStream_t stream) {
        return LaunchKernel(geometry, stream, FusedChain<kDType, kElements>, x, y, n, depth);
      });
    });
  });
}

}  // namespace
}  // namespace cuda

Implementation CudaFusedChain() {
  Implementation implementation;
  implementation.name = "cuda/fused";
  implementation.family = "cuda";
  implementation.kernel = "chain";
  implementation.summary = "one kernel: all steps in registers, one read and one write";
  implementation.dtypes = cuda::ChainDTypes::List();
  implementation.default_choice = true;
  implementation.create = cuda::Create;
  return implementation;
}

}  // namespace kbench
