// Tiles of half-precision rows in shared memory for cuda/flash-mma: cp.async loads into a layout
// without bank conflicts, ldmatrix fragments out of it. Device code, compute capability 8.0 and up.
#pragma once

#include <cstdint>

#include "kernels/cuda/mma.cuh"

namespace kbench::cuda {

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

  // Starts the copy of the kRows rows at `rows`, of which the first `present` exist, by kThreads
  // threads; zeros for the others.
  template <int kRows, int kThreads>
  __device__ __forceinline__ void Load(const unsigned char* rows, int present) const {
    constexpr int kRowsAtOnce = kThreads / kChunks;
    static_assert(kRows % kRowsAtOnce == 0);
    const int chunk = static_cast<int>(threadIdx.x) % kChunks;
    const int at = static_cast<int>(threadIdx.x) / kChunks;
    rows += at * kRowBytes + chunk * 16;
#pragma unroll
    for (int row = 0; row < kRows; row += kRowsAtOnce) {
      CopyAsync<16>(At(row + at, chunk), rows + row * kRowBytes, row + at < present ? 16 : 0);
    }
  }

  // The 16x16 fragment A of rows [row, row + 16) and columns [16 step, 16 step + 16).
  __device__ __forceinline__ void LoadA(int row, int step, std::uint32_t (&a)[4]) const {
    const int lane = threadIdx.x % 32;
    LoadMatrices(a, At(row + lane % 16, 2 * step + lane / 16));
  }
  // Fragments B of the transposed tile: 16 columns of it are rows [row, row + 16) here, its 16 rows
  // are columns [16 step, ...) here. b[0..1] is the first eight columns' fragment, b[2..3] the
  // next.
  __device__ __forceinline__ void LoadTransposedB(int row, int step, std::uint32_t (&b)[4]) const {
    const int lane = threadIdx.x % 32;
    LoadMatrices(b, At(row + lane % 8 + lane / 16 * 8, 2 * step + lane / 8 % 2));
  }
  // Fragments B of rows [row, row + 16) and columns [16 step, 16 step + 16): two of eight columns.
  __device__ __forceinline__ void LoadB(int row, int step, std::uint32_t (&b)[4]) const {
    const int lane = threadIdx.x % 32;
    LoadMatricesTransposed(b, At(row + lane % 16, 2 * step + lane / 16));
  }
};

}  // namespace kbench::cuda
