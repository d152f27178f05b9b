// Tiles of half-precision rows in shared memory for cuda/flash-mma: cp.async loads into a layout
// without bank conflicts, ldmatrix fragments out of it, mma.sync m16n8k16. Device code, sm_80 and
// up.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace kbench::cuda {

// 16 bytes from global to shared memory, asynchronously; zeros if not `valid`.
__device__ __forceinline__ void CopyAsync16(std::uint32_t to, const void* from, bool valid) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from),
               "r"(valid ? 16 : 0)
               : "memory");
}
__device__ __forceinline__ void CopyAsyncCommit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
// Waits until at most `kPending` of this thread's newest groups are under way.
template <int kPending>
__device__ __forceinline__ void CopyAsyncWait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

// Four 8x8 matrices; lane l gives the row l % 8 of matrix l / 8.
__device__ __forceinline__ void LoadMatrices(std::uint32_t address, std::uint32_t (&m)[4]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
               : "r"(address)
               : "memory");
}
__device__ __forceinline__ void LoadMatricesTransposed(std::uint32_t address,
                                                       std::uint32_t (&m)[4]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
               : "r"(address)
               : "memory");
}

// c[16x8] += a[16x16] * b[16x8], fp32 accumulation.
template <typename Half>
__device__ __forceinline__ void MultiplyAdd(float (&c)[4], const std::uint32_t (&a)[4],
                                            std::uint32_t b0, std::uint32_t b1);

template <>
__device__ __forceinline__ void MultiplyAdd<__half>(float (&c)[4], const std::uint32_t (&a)[4],
                                                    std::uint32_t b0, std::uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
template <>
__device__ __forceinline__ void MultiplyAdd<__nv_bfloat16>(float (&c)[4],
                                                           const std::uint32_t (&a)[4],
                                                           std::uint32_t b0, std::uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Rows of kColumns halves at a shared memory address. The 16-byte chunks of a row are permuted by
// the row's last three bits: eight rows of one column of chunks, as ldmatrix reads them, then lie
// in eight different groups of banks.
template <int kColumns>
struct SwizzledTile {
  static constexpr int kChunks = kColumns / 8;
  static constexpr int kRowBytes = kColumns * 2;
  std::uint32_t base;

  __device__ __forceinline__ std::uint32_t At(int row, int chunk) const {
    return base + static_cast<std::uint32_t>(row * kRowBytes + ((chunk ^ (row & 7)) << 4));
  }

  // Starts the copy of kRows rows from row `first` of a [rows, kColumns] matrix, by kThreads
  // threads; zeros past the last row.
  template <int kRows, int kThreads>
  __device__ __forceinline__ void Load(const void* matrix, std::int64_t first,
                                       std::int64_t rows) const {
    const auto* bytes = static_cast<const unsigned char*>(matrix);
    constexpr int kRowsAtOnce = kThreads / kChunks;
    const int chunk = static_cast<int>(threadIdx.x) % kChunks;
    const int at = static_cast<int>(threadIdx.x) / kChunks;
#pragma unroll
    for (int row = 0; row < kRows; row += kRowsAtOnce) {
      const std::int64_t from = first + row + at;
      const bool valid = from < rows;
      CopyAsync16(At(row + at, chunk), bytes + (valid ? from * kRowBytes + chunk * 16 : 0), valid);
    }
  }

  // The 16x16 fragment A of rows [row, row + 16) and columns [16 step, 16 step + 16).
  __device__ __forceinline__ void LoadA(int row, int step, std::uint32_t (&a)[4]) const {
    const int lane = threadIdx.x % 32;
    LoadMatrices(At(row + lane % 16, 2 * step + lane / 16), a);
  }
  // Fragments B of the transposed tile: 16 columns of it are rows [row, row + 16) here, its 16 rows
  // are columns [16 step, ...) here. b[0..1] is the first eight columns' fragment, b[2..3] the next.
  __device__ __forceinline__ void LoadTransposedB(int row, int step, std::uint32_t (&b)[4]) const {
    const int lane = threadIdx.x % 32;
    LoadMatrices(At(row + lane % 8 + lane / 16 * 8, 2 * step + lane / 8 % 2), b);
  }
  // Fragments B of rows [row, row + 16) and columns [16 step, 16 step + 16): two of eight columns.
  __device__ __forceinline__ void LoadB(int row, int step, std::uint32_t (&b)[4]) const {
    const int lane = threadIdx.x % 32;
    LoadMatricesTransposed(At(row + lane % 16, 2 * step + lane / 16), b);
  }
};

}  // namespace kbench::cuda
