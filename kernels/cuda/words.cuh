// Sixteen bytes of a tensor at a time: the widest access there is on most cards, and what a warp
// needs to ask for whole lines of memory. Device code.
#pragma once

#include <cstdint>

#include "kernels/cuda/element.cuh"

namespace kbench::cuda {

// How many elements a word holds.
template <typename E>
inline constexpr int kWordElements = static_cast<int>(16 / sizeof(typename E::Storage));

// Without a hint: a kernel that also stores loses 5 % on an H200 where what it loads is the first
// to be evicted (README.md). The compiler may move it over stores.
__device__ inline uint4 LoadWord(const uint4* from) {
  uint4 word;
  asm("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
      : "=r"(word.x), "=r"(word.y), "=r"(word.z), "=r"(word.w)
      : "l"(from));
  return word;
}

// For kernels that write next to nothing: leaves the first-level cache alone.
__device__ inline uint4 LoadWordOnce(const uint4* from) {
  uint4 word;
  asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
      : "=r"(word.x), "=r"(word.y), "=r"(word.z), "=r"(word.w)
      : "l"(from));
  return word;
}

// A word as numbers to compute with, and numbers as a word.
template <typename E>
__device__ void Unpack(const uint4& word, typename E::Compute (&numbers)[kWordElements<E>]) {
  constexpr int kCount = kWordElements<E>;
  typename E::Storage stored[kCount];
  memcpy(stored, &word, sizeof(word));
#pragma unroll
  for (int i = 0; i < kCount; ++i) numbers[i] = E::Load(stored[i]);
}

template <typename E>
__device__ uint4 Pack(const typename E::Compute (&numbers)[kWordElements<E>]) {
  constexpr int kCount = kWordElements<E>;
  typename E::Storage stored[kCount];
#pragma unroll
  for (int i = 0; i < kCount; ++i) stored[i] = E::Store(numbers[i]);
  uint4 word;
  memcpy(&word, stored, sizeof(word));
  return word;
}

// The sum of a word's numbers, as a tree.
template <typename E>
__device__ typename E::Compute SumOfWord(const uint4& word) {
  constexpr int kCount = kWordElements<E>;
  typename E::Compute numbers[kCount];
  Unpack<E>(word, numbers);
#pragma unroll
  for (int width = kCount / 2; width > 0; width /= 2) {
#pragma unroll
    for (int i = 0; i < width; ++i) numbers[i] += numbers[i + width];
  }
  return numbers[0];
}

}  // namespace kbench::cuda
