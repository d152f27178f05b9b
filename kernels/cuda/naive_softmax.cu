// cuda/naive softmax: one block a row, three passes over it.
#include "kernels/cuda/block_reduce.cuh"
#include "kernels/cuda/dtypes.h"
#include "kernels/cuda/element.cuh"
#include "kernels/cuda/implementations.h"
#include "kernels/cuda/naive.h"

namespace kbench {
namespace cuda {
namespace {

constexpr int kThreads = 256;

template <typename E>
__global__ void SoftmaxKernel(const typename E::Storage* x, typename E::Storage* y,
                              std::int64_t rows, std::int64_t cols) {
  using Compute = typename E::Compute;
  for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const auto* from = x + row * cols;
    auto* to = y + row * cols;
    Compute largest = -INFINITY;
    for (std::int64_t i = threadIdx.x; i < cols; i += kThreads) {
      largest = Larger{}(largest, E::Load(from[i]));
    }
    largest = BlockReduce(largest, Larger{});
    Compute sum = 0;
    for (std::int64_t i = threadIdx.x; i < cols; i += kThreads) {
      sum += exp(E::Load(from[i]) - largest);
    }
    sum = BlockReduce(sum, Add{});
    for (std::int64_t i = threadIdx.x; i < cols; i += kThreads) {
      to[i] = E::Store(exp(E::Load(from[i]) - largest) / sum);
    }
  }
}

template <DType D>
CreateResult CreateAs(const Problem& problem, const OperandPointers& operands) {
  using E = Element<D>;
  const std::int64_t rows = problem.shape["rows"], cols = problem.shape["cols"];
  const auto* x = static_cast<const typename E::Storage*>(operands.inputs[0]);
  auto* y = static_cast<typename E::Storage*>(operands.output);
  const Geometry geometry{GridOf(rows), dim3(kThreads)};
  return CreateSingleKernel(SoftmaxKernel<E>, geometry, [=](cudaStream_t stream) {
    return LaunchKernel(geometry, stream, SoftmaxKernel<E>, x, y, rows, cols);
  });
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

Implementation CudaNaiveSoftmax() {
  return cuda::NaiveImplementation("softmax", "one block a row: largest, sum, result",
                                   cuda::Compiled::List(), cuda::Create);
}

}  // namespace kbench
