// fp32 matmul on the CUDA cores, with every product an IEEE one. A block holds a tile of C in its
// registers; the operands come through two stages of shared memory, and the next step's elements
// are read from there while this step's products are formed. Device code; the host side is
// register_tiled_matmul.cu.
//
// What the shapes are for: a multiprocessor issues one instruction a cycle in each quarter, so all
// that is not a multiply-add takes its place. 8 x 16 elements a thread cost 6 loads of 16 bytes for
// 128 multiply-adds. A multiply-add reads three registers, and there is one port to the even and
// one to the odd of them: it takes one cycle only if it shares an operand with the one before it
// (see MultiplyAdd) and its other two are of both kinds, which ptxas sees to if it is left the
// choice (see `one`).
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/cuda/matmul_raster.cuh"
#include "kernels/cuda/register_tiled_copies.cuh"

namespace kbench::cuda {

// Warps of 64 x 64, lanes 8 x 4 over that, each with chunks of 4 x 4 elements.
template <int kBlockM_, int kBlockN_, int kDepth_, int kBlocks_>
struct RegisterTile {
  static constexpr int kBlockM = kBlockM_, kBlockN = kBlockN_;
  static constexpr int kWarpM = 64, kWarpN = 64;
  static constexpr int kDepth = kDepth_;    // of a stage along k
  static constexpr int kBlocks = kBlocks_;  // that should share a multiprocessor
  static constexpr int kWarpsAcross = kBlockN / kWarpN;
  static constexpr int kThreads = kBlockM / kWarpM * kWarpsAcross * 32;
  static constexpr int kRows = kWarpM / 8, kCols = kWarpN / 4;  // of a thread
  // Four floats more than a tile: stores that transpose hit 32 banks, and words stay aligned.
  static constexpr int kPitchA = kBlockM + 4, kPitchB = kBlockN + 4;
  static constexpr int kBytesA = kDepth * kPitchA * static_cast<int>(sizeof(float));
  static constexpr int kStageBytes = kBytesA + kDepth * kPitchB * static_cast<int>(sizeof(float));
  static constexpr int kSharedBytes = 2 * kStageBytes;
};

// Where a thread's elements are in the block's tile. Neighbouring lanes share a row chunk, lanes
// two apart a column chunk: a load of 16 bytes a lane then takes two passes through shared memory,
// not four.
template <typename T>
struct ThreadPlace {
  int row, col;
  __device__ ThreadPlace() {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int lane_col = (lane & 1) | (lane >> 2 & 2);
    const int lane_row = (lane >> 1 & 3) | (lane >> 2 & 4);
    row = warp / T::kWarpsAcross * T::kWarpM + lane_row * 4;
    col = warp % T::kWarpsAcross * T::kWarpN + lane_col * 4;
  }
};

__device__ inline void LoadShared(float* to, std::uint32_t from) {
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3])
               : "r"(from)
               : "memory");
}

// What a thread multiplies at one depth.
template <typename T>
struct Fragments {
  float a[T::kRows], b[T::kCols];

  __device__ void Load(std::uint32_t stage, const ThreadPlace<T>& place, int l) {
#pragma unroll
    for (int i = 0; i < T::kRows / 4; ++i) {
      LoadShared(a + 4 * i, stage + (l * T::kPitchA + i * 32 + place.row) * 4);
    }
#pragma unroll
    for (int j = 0; j < T::kCols / 4; ++j) {
      LoadShared(b + 4 * j, stage + T::kBytesA + (l * T::kPitchB + j * 16 + place.col) * 4);
    }
  }
};

template <typename T>
using Sums = float[T::kRows][T::kCols];

// Down one column and up the next: each shares an operand with the one before it, which the
// assembler then keeps (.reuse) instead of reading it again.
template <typename T>
__device__ void MultiplyAdd(const Fragments<T>& x, Sums<T>& sums) {
#pragma unroll
  for (int j = 0; j < T::kCols; ++j) {
#pragma unroll
    for (int step = 0; step < T::kRows; ++step) {
      const int i = j % 2 == 0 ? step : T::kRows - 1 - step;
      sums[i][j] += x.a[i] * x.b[j];
    }
  }
}

// Rows from `first_row` and columns from `first_col` on: what lies before is another block's.
template <typename T>
__device__ void StoreTile(float* c, int m, int n, int row0, int col0, TilePlace first,
                          const Sums<T>& sums, float one) {
#pragma unroll
  for (int i = 0; i < T::kRows; ++i) {
    const int row = row0 + i / 4 * 32 + i % 4;
    if (row < first.row || row >= m) continue;
#pragma unroll
    for (int j = 0; j < T::kCols; j += 4) {
      const int col = col0 + j / 4 * 16;
      float* to = c + static_cast<std::int64_t>(row) * n + col;
      const float values[4] = {sums[i][j] * one, sums[i][j + 1] * one, sums[i][j + 2] * one,
                               sums[i][j + 3] * one};
      if (n % 4 == 0) {
        if (col >= first.col && col < n) {
          *reinterpret_cast<float4*>(to) = make_float4(values[0], values[1], values[2], values[3]);
        }
      } else {
#pragma unroll
        for (int l = 0; l < 4; ++l) {
          if (col + l >= first.col && col + l < n) to[l] = values[l];
        }
      }
    }
  }
}

template <typename T, int kLines, int kPitch, bool kDepthContiguous, bool kGuarded>
using Copies = std::conditional_t<
    kGuarded, GuardedCopies<kLines, kPitch, T::kDepth, T::kThreads, kDepthContiguous>,
    std::conditional_t<kDepthContiguous, TurnedCopies<kLines, kPitch, T::kDepth, T::kThreads>,
                       StraightCopies<kLines, kPitch, T::kDepth, T::kThreads>>>;

// The share of one operand's copies that goes with step l: what goes around the registers is asked
// for in the first half of a stage. What goes through them was asked for a stage ago, and is put
// in the second half: ptxas moves loads towards their use, but not out of their turn of the loop.
template <typename T, typename Copier>
__device__ void CopyShare(Copier& copies, int l, std::uint32_t to, bool more, bool more_after) {
  constexpr int kHalf = T::kDepth / 2;
#pragma unroll
  for (int part = 0; part < Copier::kParts; ++part) {
    if (!Copier::kHeld) {
      if (part * kHalf / Copier::kParts == l) copies.Ask(part, to, more);
    } else if (part * (kHalf - 1) / Copier::kParts == l - kHalf) {
      copies.Put(part, to);
      copies.Ask(part, to, more_after);
    }
  }
}

// Guarded: any extents and pitches. Otherwise words are whole, and A and B have at least a tile's
// lines; the last tiles then are moved back to the border, so that no line needs a guard.
//
// `one` is 1: a product with it frees the sums, while they grow, from lying in fours in consecutive
// registers, as the 16-byte stores want them.
template <typename T, bool kAStoredKxM, bool kBStoredNxK, bool kGuarded>
__global__ void __launch_bounds__(T::kThreads, T::kBlocks)
    RegisterTiledKernel(LinesByDepth a, LinesByDepth b, float* c, float one) {
  extern __shared__ __align__(16) float stages[];
  const TilePlace first = PlaceOfTile<T::kBlockM, T::kBlockN>(a.lines, b.lines);
  TilePlace tile = first;
  if constexpr (!kGuarded) {
    tile = {min(first.row, a.lines - T::kBlockM), min(first.col, b.lines - T::kBlockN)};
  }
  Copies<T, T::kBlockM, T::kPitchA, !kAStoredKxM, kGuarded> copies_a(a, tile.row);
  Copies<T, T::kBlockN, T::kPitchB, kBStoredNxK, kGuarded> copies_b(b, tile.col);
  const ThreadPlace<T> place;
  const int steps = (a.depth - 1) / T::kDepth + 1;
  const auto base = static_cast<std::uint32_t>(__cvta_generic_to_shared(stages));
  copies_a.Begin(base);
  copies_b.Begin(base + T::kBytesA);
  CommitCopies();
  const auto ask_held = [&](auto& copies) {
    if constexpr (std::remove_reference_t<decltype(copies)>::kHeld) {
#pragma unroll
      for (int part = 0; part < copies.kParts; ++part) copies.Ask(part, base, steps > 1);
    }
  };
  ask_held(copies_a);
  ask_held(copies_b);
  Sums<T> sums = {};
  Fragments<T> fragments[2];
  WaitForCopies<0>();
  __syncthreads();
  fragments[0].Load(base, place, 0);
  std::uint32_t reading = base, writing = base + T::kStageBytes;
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
    const bool more = step + 1 < steps, more_after = step + 2 < steps;
#pragma unroll
    for (int l = 0; l < T::kDepth; ++l) {
      if (l == T::kDepth - 1) {
        // The next stage is there, and all have read the last of this one.
        WaitForCopies<0>();
        __syncthreads();
        const std::uint32_t read = reading;
        reading = writing;
        writing = read;
      }
      fragments[(l + 1) % 2].Load(reading, place, (l + 1) % T::kDepth);
      if (l < T::kDepth - 1) {
        CopyShare<T>(copies_a, l, writing, more, more_after);
        CopyShare<T>(copies_b, l, writing + T::kBytesA, more, more_after);
        if (l == T::kDepth / 2 - 1) CommitCopies();
      }
      MultiplyAdd<T>(fragments[l % 2], sums);
    }
  }
  StoreTile<T>(c, a.lines, b.lines, tile.row + place.row, tile.col + place.col, first, sums, one);
}

}  // namespace kbench::cuda
