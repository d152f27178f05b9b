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

// y = apply(x) on n elements, kWords words a thread and turn: `apply` changes fp32 values in place.
// All words are on their way before the first is used.
template <DType D, int kElements, int kWords, typename Apply>
__device__ void ForEachWord(const typename Element<D>::Storage* x, typename Element<D>::Storage* y,
                            std::int64_t n, Apply apply) {
  using E = Element<D>;
  using Word = ChainWord<D, kElements>;
  const std::int64_t words = n / kElements;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x * kWords;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * blockDim.x * kWords;
  for (std::int64_t i = first + threadIdx.x; i < words; i += stride) {
    Word word[kWords];
#pragma unroll
    for (int w = 0; w < kWords; ++w) {
      const std::int64_t at = i + w * blockDim.x;
      if (w == 0 || at < words) word[w] = reinterpret_cast<const Word*>(x)[at];
    }
    float values[kWords * kElements];
#pragma unroll
    for (int j = 0; j < kWords * kElements; ++j) {
      values[j] = E::Load(word[j / kElements].element[j % kElements]);
    }
    apply(values);
#pragma unroll
    for (int j = 0; j < kWords * kElements; ++j) {
      word[j / kElements].element[j % kElements] = E::Store(values[j]);
    }
#pragma unroll
    for (int w = 0; w < kWords; ++w) {
      const std::int64_t at = i + w * blockDim.x;
      if (w == 0 || at < words) reinterpret_cast<Word*>(y)[at] = word[w];
    }
  }
  const std::int64_t rest =
      words * kElements + static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (rest < n) {
    float value[1] = {E::Load(x[rest])};
    apply(value);
    y[rest] = E::Store(value[0]);
  }
}

// A thread for every kWords words.
template <int kElements, int kWords>
Geometry ChainGeometry(std::int64_t n) {
  constexpr std::int64_t kBlockElements = std::int64_t{kElements} * kWords * kChainThreads;
  return {GridOf((n + kBlockElements - 1) / kBlockElements), dim3(kChainThreads)};
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
