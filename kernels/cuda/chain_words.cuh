// How the chain's kernels go through memory: words of 16 bytes where the operands are so aligned,
// of one element where they are not, and the elements after the last whole word. Device code.
#pragma once

#include <cstdint>

#include "kernels/cuda/device_instance.h"
#include "kernels/cuda/element.cuh"

namespace kbench::cuda {

inline constexpr int kChainThreads = 256;

// Elements of dtype D that are loaded and stored together.
template <DType D, int kElements>
struct alignas(kElements * sizeof(typename Element<D>::Storage)) ChainWord {
  typename Element<D>::Storage element[kElements];
};

// y = apply(x) on n elements, word by word: `apply` changes kElements fp32 values in place.
template <DType D, int kElements, typename Apply>
__device__ void ForEachWord(const typename Element<D>::Storage* x, typename Element<D>::Storage* y,
                            std::int64_t n, Apply apply) {
  using E = Element<D>;
  using Word = ChainWord<D, kElements>;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t words = n / kElements;
  for (std::int64_t i = first; i < words; i += stride) {
    Word word = reinterpret_cast<const Word*>(x)[i];
    float values[kElements];
#pragma unroll
    for (int j = 0; j < kElements; ++j) values[j] = E::Load(word.element[j]);
    apply(values);
#pragma unroll
    for (int j = 0; j < kElements; ++j) word.element[j] = E::Store(values[j]);
    reinterpret_cast<Word*>(y)[i] = word;
  }
  const std::int64_t rest = words * kElements + first;
  if (rest < n) {
    float values[kElements] = {E::Load(x[rest])};
    apply(values);
    y[rest] = E::Store(values[0]);
  }
}

// A thread for each word.
template <int kElements>
Geometry ChainGeometry(std::int64_t n) {
  const std::int64_t words = (n + kElements - 1) / kElements;
  return {GridOf((words + kChainThreads - 1) / kChainThreads), dim3(kChainThreads)};
}

// make(std::integral_constant<int, elements of a word>{}): 16 bytes, or one element where an
// operand is not aligned to that.
template <DType D, typename Make>
CreateResult WithWordsOf(const OperandPointers& operands, Make make) {
  constexpr int kElements = 16 / static_cast<int>(sizeof(typename Element<D>::Storage));
  const auto address = reinterpret_cast<std::uintptr_t>(operands.inputs[0]) |
                       reinterpret_cast<std::uintptr_t>(operands.output);
  if (address % 16 == 0) return make(std::integral_constant<int, kElements>{});
  return make(std::integral_constant<int, 1>{});
}

}  // namespace kbench::cuda
