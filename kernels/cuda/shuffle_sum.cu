// cuda/shuffle sum: the textbook's step after the plain kernel. A thread loads one element a step,
// a warp adds up its 32 sums by shuffles, and a second launch of one block sums the blocks' sums.
// The order is fixed by n and the card: results repeat bit for bit.
#include <algorithm>
#include <memory>

#include "kernels/cuda/block_reduce.cuh"
#include "kernels/cuda/dtypes.h"
#include "kernels/cuda/element.cuh"
#include "kernels/cuda/implementations.h"

namespace kbench {
namespace cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kFinishThreads = 1024;
constexpr int kBlocksPerMultiprocessor = 8;  // all of its 2048 threads

template <typename E>
__global__ void __launch_bounds__(kThreads)
    SumKernel(const typename E::Storage* x, std::int64_t n, typename E::Compute* sums) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kThreads;
  typename E::Compute sum = 0;
#pragma unroll 1  // one load in flight: what the next rung changes
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < n;
       i += stride) {
    sum += E::Load(x[i]);
  }
  sum = BlockReduce(sum, Add{});
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

template <typename Compute>
__global__ void __launch_bounds__(kFinishThreads)
    FinishKernel(const Compute* sums, unsigned count, Compute* y) {
  Compute total = 0;
  for (unsigned i = threadIdx.x; i < count; i += kFinishThreads) total += sums[i];
  total = BlockReduce(total, Add{});
  if (threadIdx.x == 0) *y = total;
}

template <DType D>
CreateResult CreateAs(const Problem& problem, const OperandPointers& operands) {
  using E = Element<D>;
  using Compute = typename E::Compute;
  const std::int64_t n = problem.shape["n"];
  const auto* x = static_cast<const typename E::Storage*>(operands.inputs[0]);
  auto* y = static_cast<Compute*>(operands.output);
  const std::int64_t most = std::max(CurrentDevice().multiprocessors, 1) * kBlocksPerMultiprocessor;
  const std::int64_t blocks = std::min((n + kThreads - 1) / kThreads, most);

  auto sums = std::make_shared<DeviceBuffer>();
  const std::int64_t bytes = blocks * static_cast<std::int64_t>(sizeof(Compute));
  if (auto error = sums->Allocate("the partial sums", bytes)) return *std::move(error);
  const Geometry geometry{GridOf(blocks), dim3(kThreads)};
  const Geometry finish{dim3(1), dim3(kFinishThreads)};
  ConfigurationMap finish_configuration, configuration;
  if (auto error = LoadKernel(reinterpret_cast<const void*>(FinishKernel<Compute>), finish,
                              finish_configuration)) {
    return *std::move(error);
  }
  if (auto error =
          LoadKernel(reinterpret_cast<const void*>(SumKernel<E>), geometry, configuration)) {
    return *std::move(error);
  }
  configuration["launches"] = "2";
  configuration["workspace_bytes"] = std::to_string(bytes);
  DeviceBody body = [=](cudaStream_t stream) {
    const cudaError_t error =
        LaunchKernel(geometry, stream, SumKernel<E>, x, n, sums->as<Compute>());
    if (error != cudaSuccess) return error;
    return LaunchKernel(finish, stream, FinishKernel<Compute>, sums->as<Compute>(),
                        static_cast<unsigned>(blocks), y);
  };
  return std::unique_ptr<Instance>(
      std::make_unique<DeviceInstance>(std::move(body), std::move(configuration)));
}

using Compiled = DTypes<DType::kFp64, DType::kFp32, DType::kFp16, DType::kBf16>;

CreateResult Create(const Problem& problem, const OperandPointers& operands,
                    const DeviceContext& /*context*/) {
  return Compiled::Create(problem.dtype, [&](auto dtype) {
    return CreateAs<decltype(dtype)::value>(problem, operands);
  });
}

}  // namespace
}  // namespace cuda

Implementation CudaShuffleSum() {
  return {.name = "cuda/shuffle",
          .family = "cuda",
          .kernel = "sum",
          .summary = "one element a thread and step, warp shuffles, a second launch sums the rest",
          .dtypes = cuda::Compiled::List(),
          .default_choice = true,
          .rung = 1,
          .create = cuda::Create};
}

}  // namespace kbench
