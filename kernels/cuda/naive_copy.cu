// cuda/naive copy: x -> y, bytes as they are, 16 at a time where the operands are so aligned.
#include <algorithm>

#include "kernels/cuda/implementations.h"
#include "kernels/cuda/naive.h"

namespace kbench {
namespace cuda {
namespace {

constexpr int kThreads = 256;

// `words` words of type Word, then the bytes after them.
template <typename Word>
__global__ void CopyKernel(const unsigned char* x, unsigned char* y, std::int64_t words,
                           std::int64_t bytes) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const auto* from = reinterpret_cast<const Word*>(x);
  auto* to = reinterpret_cast<Word*>(y);
  for (std::int64_t i = first; i < words; i += stride) to[i] = from[i];
  const std::int64_t done = words * static_cast<std::int64_t>(sizeof(Word));
  for (std::int64_t i = done + first; i < bytes; i += stride) y[i] = x[i];
}

template <typename Word>
CreateResult CreateWith(const OperandPointers& operands, std::int64_t bytes) {
  const auto* x = static_cast<const unsigned char*>(operands.inputs[0]);
  auto* y = static_cast<unsigned char*>(operands.output);
  const std::int64_t words = bytes / static_cast<std::int64_t>(sizeof(Word));
  const Geometry geometry{GridOf((words + kThreads - 1) / kThreads), dim3(kThreads)};
  return CreateSingleKernel(CopyKernel<Word>, geometry, [=](cudaStream_t stream) {
    return LaunchKernel(geometry, stream, CopyKernel<Word>, x, y, words, bytes);
  });
}

CreateResult Create(const Problem& problem, const OperandPointers& operands,
                    const DeviceContext& /*context*/) {
  const std::int64_t element = static_cast<std::int64_t>(Info(problem.dtype).storage_bytes);
  const std::int64_t bytes = problem.shape["n"] * element;
  const auto address = reinterpret_cast<std::uintptr_t>(operands.inputs[0]) |
                       reinterpret_cast<std::uintptr_t>(operands.output);
  if (address % sizeof(uint4) == 0) return CreateWith<uint4>(operands, bytes);
  if (address % sizeof(std::uint32_t) == 0) return CreateWith<std::uint32_t>(operands, bytes);
  return CreateWith<unsigned char>(operands, bytes);
}

}  // namespace
}  // namespace cuda

Implementation CudaNaiveCopy() {
  return cuda::NaiveImplementation(
      "copy", "16 bytes a thread and step",
      {DType::kFp64, DType::kFp32, DType::kFp16, DType::kBf16, DType::kInt8}, cuda::Create);
}

}  // namespace kbench
