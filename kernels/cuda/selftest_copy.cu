// selftest/a, selftest/b, selftest/slower on a GPU: what `kbench-client selftest` compares to show
// that the service tells equal from unequal. All three copy x to y; between load and store each
// word is flipped by a key and back again, in rounds of ten such pairs: `a` and `b` 100 rounds,
// which are the same work under two names, and `slower` 102 rounds, exactly 2 % more. The rounds
// cost some nine times what the memory does (H200: 35 us for 2^21 words), behind which it hides, so
// that the time of the kernel grows by 1.9 to 2 %. All three are one kernel with another argument.
// Hidden: they run only when they are asked for by name.
#include "kernels/cuda/device_instance.h"
#include "kernels/cuda/implementations.h"
#include "kernels/selftest_line.h"

namespace kbench {
namespace cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kPairs = 10;
constexpr int kRounds = 100;
constexpr int kMoreRounds = 102;

// Not for the compiler to see through: a pair of flips is nothing to it.
__device__ unsigned Flip(unsigned value, unsigned key) {
  asm volatile("xor.b32 %0, %0, %1;" : "+r"(value) : "r"(key));
  return value;
}

template <typename Word>
__global__ void CopyWithWork(const Word* x, Word* y, std::int64_t words, int rounds, unsigned key) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < words;
       i += stride) {
    unsigned value = x[i];
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
#pragma unroll
      for (int pair = 0; pair < kPairs; ++pair) value = Flip(Flip(value, key), key);
    }
    y[i] = static_cast<Word>(value);
  }
}

template <typename Word>
CreateResult CreateWith(const OperandPointers& operands, std::int64_t bytes, int rounds) {
  const auto* x = static_cast<const Word*>(operands.inputs[0]);
  auto* y = static_cast<Word*>(operands.output);
  const std::int64_t words = bytes / static_cast<std::int64_t>(sizeof(Word));
  const Geometry geometry{GridOf((words + kThreads - 1) / kThreads), dim3(kThreads)};
  constexpr unsigned kKey = 0x5a;
  return CreateSingleKernel(CopyWithWork<Word>, geometry, [=](cudaStream_t stream) {
    return LaunchKernel(geometry, stream, CopyWithWork<Word>, x, y, words, rounds, kKey);
  });
}

template <int rounds>
CreateResult Create(const Problem& problem, const OperandPointers& operands,
                    const DeviceContext& /*context*/) {
  const std::int64_t bytes =
      problem.shape["n"] * static_cast<std::int64_t>(Info(problem.dtype).storage_bytes);
  const auto address = reinterpret_cast<std::uintptr_t>(operands.inputs[0]) |
                       reinterpret_cast<std::uintptr_t>(operands.output) |
                       static_cast<std::uintptr_t>(bytes);
  if (address % sizeof(std::uint32_t) == 0) {
    return CreateWith<std::uint32_t>(operands, bytes, rounds);
  }
  return CreateWith<unsigned char>(operands, bytes, rounds);
}

}  // namespace
}  // namespace cuda

Implementation CudaSelftestA() {
  return SelftestLine("selftest/a", "a copy with much work inside, for the self-test",
                      cuda::Create<cuda::kRounds>);
}

Implementation CudaSelftestB() {
  return SelftestLine("selftest/b", "the same work as selftest/a under another name",
                      cuda::Create<cuda::kRounds>);
}

Implementation CudaSelftestSlower() {
  return SelftestLine("selftest/slower", "2 % more work than selftest/a",
                      cuda::Create<cuda::kMoreRounds>);
}

}  // namespace kbench
