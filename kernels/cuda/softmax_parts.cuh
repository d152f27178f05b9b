// What the softmax kernels share: exponentials to base 2 and the pair of numbers that a part of a
// row is known by. Device code.
//
// The largest element is carried multiplied by log2(e) and rounded once: every term is then
// 2^(x log2(e) - largest) with one fused multiply-add and one instruction, and the rounding of
// `largest` cancels when the row is divided by its sum.
#pragma once

#include "kernels/cuda/block_reduce.cuh"

namespace kbench::cuda {

template <typename Compute>
inline constexpr Compute kLog2E = static_cast<Compute>(1.44269504088896340736);

// Good to two units; smaller results than 2^-126 are 0.
__device__ inline float Exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ inline double Exp2(double x) { return exp2(x); }

// A part of a row: its largest element times log2(e), and the sum of 2^(x log2(e) - largest).
template <typename Compute>
struct Part {
  Compute largest = -INFINITY;
  Compute sum = 0;
};

// What to subtract in an exponent: a part of minus infinities alone must sum to 0, not to NaN.
template <typename Compute>
__device__ Compute Subtrahend(Compute largest) {
  return largest == -INFINITY ? Compute{0} : largest;
}

// Of `lanes` neighbouring lanes of a warp, a power of two; every lane of the warp calls and each
// gets the same.
template <typename Compute>
__device__ Part<Compute> CombineLanes(Part<Compute> part, int lanes = 32) {
  Compute largest = part.largest;
  for (int offset = lanes / 2; offset > 0; offset /= 2) {
    largest = Larger{}(largest, __shfl_xor_sync(0xffffffffu, largest, offset));
  }
  Compute sum = part.sum * Exp2(part.largest - Subtrahend(largest));
  for (int offset = lanes / 2; offset > 0; offset /= 2) {
    sum += __shfl_xor_sync(0xffffffffu, sum, offset);
  }
  return {largest, sum};
}

// Of `count` parts in shared memory; every lane of the warp calls and each gets the same.
template <typename Compute>
__device__ Part<Compute> CombineStored(const Part<Compute>* parts, unsigned count) {
  const unsigned lane = threadIdx.x % 32;
  Part<Compute> mine;
  for (unsigned i = lane; i < count; i += 32)
    mine.largest = Larger{}(mine.largest, parts[i].largest);
  for (unsigned i = lane; i < count; i += 32) {
    mine.sum += parts[i].sum * Exp2(parts[i].largest - Subtrahend(mine.largest));
  }
  return CombineLanes(mine);
}

}  // namespace kbench::cuda
