// cuda/naive sum: every block sums its share into the workspace, then one block sums those. The
// order is fixed by n alone: results repeat bit for bit.
#include <algorithm>
#include <memory>

#include "kernels/cuda/block_reduce.cuh"
#include "kernels/cuda/dtypes.h"
#include "kernels/cuda/element.cuh"
#include "kernels/cuda/implementations.h"
#include "kernels/cuda/naive.h"

namespace kbench {
namespace cuda {
namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kMostBlocks = 2048;
constexpr std::int64_t kElementsPerThread = 8;

template <typename E, typename Input>
__global__ void SumKernel(const Input* x, std::int64_t n, typename E::Compute* sums) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  typename E::Compute sum = 0;
#pragma unroll 8
  for (std::int64_t i = first; i < n; i += stride) sum += E::Load(x[i]);
  sum = BlockReduce(sum, Add{});
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

template <DType D>
CreateResult CreateAs(const Problem& problem, const OperandPointers& operands) {
  using E = Element<D>;
  using Compute = typename E::Compute;
  using Partial = Element<sizeof(Compute) == 8 ? DType::kFp64 : DType::kFp32>;
  const std::int64_t n = problem.shape["n"];
  const auto* x = static_cast<const typename E::Storage*>(operands.inputs[0]);
  auto* y = static_cast<Compute*>(operands.output);
  const std::int64_t share = kThreads * kElementsPerThread;
  const std::int64_t blocks = std::min((n + share - 1) / share, kMostBlocks);

  auto partial = std::make_shared<DeviceBuffer>();
  const std::int64_t bytes = blocks * static_cast<std::int64_t>(sizeof(Compute));
  if (auto error = partial->Allocate("the partial sums", bytes)) return *std::move(error);
  const auto first = SumKernel<E, typename E::Storage>;
  const auto second = SumKernel<Partial, Compute>;
  const Geometry many{GridOf(blocks), dim3(kThreads)};
  const Geometry one{dim3(1), dim3(kThreads)};
  ConfigurationMap configuration;
  if (auto error = LoadKernel(reinterpret_cast<const void*>(second), one, configuration)) {
    return *std::move(error);
  }
  if (auto error = LoadKernel(reinterpret_cast<const void*>(first), many, configuration)) {
    return *std::move(error);
  }
  configuration["launches"] = "2";
  configuration["workspace_bytes"] = std::to_string(bytes);
  DeviceBody body = [=](cudaStream_t stream) {
    auto* sums = partial->as<Compute>();
    const cudaError_t error = LaunchKernel(many, stream, first, x, n, sums);
    if (error != cudaSuccess) return error;
    return LaunchKernel(one, stream, second, static_cast<const Compute*>(sums), blocks, y);
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
  return cuda::NaiveImplementation("sum", "a sum a block, then one block sums those",
                                   cuda::Compiled::List(), cuda::Create);
}

}  // namespace kbench
