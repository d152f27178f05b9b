// The tensor cores by warp (mma.sync) and what feeds them beside async_copy.cuh: ldmatrix, and
// stmatrix on compute capability 9.0. Compute capability 8.0 and up. Device code; "warp" functions
// need all 32 threads. Shared addresses are SharedAddress() of mbarrier.cuh.
//
// Fragments of m16n8k16, with g = lane / 4 and t = lane % 4 (two elements a register):
//   A: (g, 2t) (g+8, 2t) (g, 2t+8) (g+8, 2t+8)   B: (k 2t, n g) (k 2t+8, n g)
//   C: c0 c1 at (g, 2t), c2 c3 at (g+8, 2t)
// of m16n8k8 for tf32 (one element a register):
//   A: (g, t) (g+8, t) (g, t+4) (g+8, t+4)       B: (k t, n g) (k t+4, n g)
#pragma once

#include <cstdint>

#include "kernels/catalog/dtype.h"
#include "kernels/cuda/async_copy.cuh"

namespace kbench::cuda {

// Four 8x8 matrices of 16-bit elements: lane l gives the address of row l % 8 of matrix l / 8, and
// gets the elements (l / 4, 2 (l % 4)) and the next of matrix i in to[i]. Warp.
__device__ inline void LoadMatrices(std::uint32_t (&to)[4], std::uint32_t row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(row)
               : "memory");
}
// The same, each matrix transposed on the way.
__device__ inline void LoadMatricesTransposed(std::uint32_t (&to)[4], std::uint32_t row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(row)
               : "memory");
}
__device__ inline void LoadMatrices(std::uint32_t (&to)[2], std::uint32_t row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
               : "=r"(to[0]), "=r"(to[1])
               : "r"(row)
               : "memory");
}
__device__ inline void LoadMatricesTransposed(std::uint32_t (&to)[2], std::uint32_t row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
               : "=r"(to[0]), "=r"(to[1])
               : "r"(row)
               : "memory");
}

// The reverse, compute capability 9.0 and up. Warp.
__device__ inline void StoreMatrices(std::uint32_t row, const std::uint32_t (&from)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(row),
               "r"(from[0]), "r"(from[1]), "r"(from[2]), "r"(from[3])
               : "memory");
}
__device__ inline void StoreMatricesTransposed(std::uint32_t row, const std::uint32_t (&from)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(row),
               "r"(from[0]), "r"(from[1]), "r"(from[2]), "r"(from[3])
               : "memory");
}

// c += a b. fp16 and bf16 take m16n8k16 (four registers of a, two of b), tf32 m16n8k8 (four, two).
// Warp. Of an fp32 the multiplier leaves out the bits that tf32 lacks: truncated, not rounded.
template <DType D>
__device__ inline void MultiplyAdd(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                   std::uint32_t b1) {
  static_assert(D == DType::kFp16 || D == DType::kBf16 || D == DType::kTf32);
  if constexpr (D == DType::kFp16) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  } else if constexpr (D == DType::kBf16) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  } else {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
}

}  // namespace kbench::cuda
