// cuda/online softmax: largest element and sum in one pass, so two reads of a row where the plain
// kernel takes three; a warp a row where rows are short, else a block.
#include "kernels/cuda/implementations.h"
#include "kernels/cuda/softmax_two_reads.cuh"

namespace kbench {
namespace cuda {
namespace {

using Compiled = DTypes<DType::kFp64, DType::kFp32, DType::kFp16, DType::kBf16>;

CreateResult Create(const Problem& problem, const OperandPointers& operands,
                    const DeviceContext& /*context*/) {
  return Compiled::Create(problem.dtype, [&](auto dtype) {
    return CreateTwoReads<Element<decltype(dtype)::value>>(problem, operands);
  });
}

}  // namespace
}  // namespace cuda

Implementation CudaOnlineSoftmax() {
  return {.name = "cuda/online",
          .family = "cuda",
          .kernel = "softmax",
          .summary = "largest and sum in one pass, a second read to write; a warp or block a row",
          .dtypes = cuda::Compiled::List(),
          .default_choice = true,
          .rung = 1,
          .create = cuda::Create};
}

}  // namespace kbench
