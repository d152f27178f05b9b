// cuda/naive sum: every block sums its share into the workspace, and the block that ends last sums
// those. The order is fixed by n alone: results repeat bit for bit.
#include <algorithm>
#include <memory>

#include "kernels/cuda/block_reduce.cuh"
#include "kernels/cuda/dtypes.h"
#include "kernels/cuda/element.cuh"
#include "kernels/cuda/implementations.h"
#include "kernels/cuda/last_block.cuh"
#include "kernels/cuda/naive.h"

namespace kbench {
namespace cuda {
namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kMostBlocks = 2048;
constexpr std::int64_t kElementsPerThread = 8;

template <typename E>
__global__ void SumKernel(const typename E::Storage* x, std::int64_t n, typename E::Compute* sums,
                          unsigned* arrived, typename E::Compute* y) {
  using Compute = typename E::Compute;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  Compute sum = 0;
#pragma unroll 8
  for (std::int64_t i = first; i < n; i += stride) sum += E::Load(x[i]);
  sum = BlockReduce(sum, Add{});
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
  if (!IsLastBlock(arrived)) return;
  Compute total = 0;
  // Written by other multiprocessors: not from this one's own cache.
  for (unsigned i = threadIdx.x; i < gridDim.x; i += kThreads) total += __ldcg(sums + i);
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
  const std::int64_t share = kThreads * kElementsPerThread;
  const std::int64_t blocks = std::min((n + share - 1) / share, kMostBlocks);

  // A word for the counter, as wide as a sum, then the sums.
  auto workspace = std::make_shared<DeviceBuffer>();
  const std::int64_t bytes = (blocks + 1) * static_cast<std::int64_t>(sizeof(Compute));
  if (auto error = workspace->Allocate("the partial sums", bytes)) return *std::move(error);
  if (const cudaError_t error = cudaMemset(workspace->as<void>(), 0, sizeof(Compute));
      error != cudaSuccess) {
    return DeviceError("clearing the counter of blocks", error);
  }
  const Geometry geometry{GridOf(blocks), dim3(kThreads)};
  ConfigurationMap configuration;
  if (auto error =
          LoadKernel(reinterpret_cast<const void*>(SumKernel<E>), geometry, configuration)) {
    return *std::move(error);
  }
  configuration["workspace_bytes"] = std::to_string(bytes);
  DeviceBody body = [=](cudaStream_t stream) {
    return LaunchKernel(geometry, stream, SumKernel<E>, x, n, workspace->as<Compute>() + 1,
                        workspace->as<unsigned>(), y);
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

Implementation CudaNaiveSum() {
  return cuda::NaiveImplementation("sum", "a sum a block, and the last block sums those",
                                   cuda::Compiled::List(), cuda::Create);
}

}  // namespace kbench
