// fp32 matmul on the CUDA cores, with every product an IEEE one. A block holds a tile of C in its
// registers; the operands come through a ring of stages in shared memory that cp.async fills, and
// the next step's elements are read from there while this step's products are formed. Device code;
// the host side is register_tiled_matmul.cu.
//
// What the shapes are for: a multiprocessor issues one instruction a cycle in each quarter, so all
// that is not a multiply-add takes its place. 8 x 8 elements a thread cost 4 loads of 16 bytes for
// 64 multiply-adds, 8 x 16 elements 6 for 128.
#pragma once

#include <cstdint>

#include "kernels/cuda/async_copy.cuh"
#include "kernels/cuda/matmul_raster.cuh"

namespace kbench::cuda {

// Lanes of a warp lie 8 x 4 over its tile, each with chunks of 4 x 4 elements.
template <int kBlockM_, int kBlockN_, int kWarpM_, int kWarpN_, int kDepth_, int kStages_,
          int kBlocks_, int kFragments_>
struct RegisterTile {
  static constexpr int kBlockM = kBlockM_, kBlockN = kBlockN_;
  static constexpr int kWarpM = kWarpM_, kWarpN = kWarpN_;
  static constexpr int kDepth = kDepth_;          // of a stage along k
  static constexpr int kStages = kStages_;        // of the ring
  static constexpr int kBlocks = kBlocks_;        // that should share a multiprocessor
  static constexpr int kFragments = kFragments_;  // 2: the next step's are read ahead
  static constexpr int kWarpsAcross = kBlockN / kWarpN;
  static constexpr int kThreads = kBlockM / kWarpM * kWarpsAcross * 32;
  static constexpr int kChunksM = kWarpM / 32, kChunksN = kWarpN / 16;
  // Four floats more than a tile: stores that transpose hit 32 banks, and words stay aligned.
  static constexpr int kPitchA = kBlockM + 4, kPitchB = kBlockN + 4;
  static constexpr int kStageFloats = kDepth * (kPitchA + kPitchB);
  static constexpr int kSharedBytes = kStages * kStageFloats * static_cast<int>(sizeof(float));
  static_assert(kStages >= 2 && kDepth % 8 == 0);
};

// One operand: rows of A or columns of B ("lines") times k. `pitch` is that of the index that is
// not contiguous.
struct LinesByDepth {
  const float* data;
  int lines, depth, pitch;
  bool whole_words;  // 16 bytes at a time may be copied

  __device__ const float* At(int contiguous, int other) const {
    return data + contiguous + static_cast<std::int64_t>(other) * pitch;
  }
};

// Copies kDepth x kLines to shared memory as [depth][line]. Lines past the last are the last one's:
// what they give is not stored. Depths past the last are zeros.
template <int kLines, int kPitch, int kDepth, int kThreads, bool kDepthContiguous>
__device__ void CopyStage(float* stage, const LinesByDepth& x, int first, int depth0) {
  const int t = static_cast<int>(threadIdx.x);
  if constexpr (kDepthContiguous) {
    constexpr int kLinesAPass = kThreads / 8;
#pragma unroll
    for (int pass = 0; pass < kDepth / 8; ++pass) {
      const int deep = t % 8 + pass * 8;
      const bool exists = depth0 + deep < x.depth;
      const int depth = exists ? depth0 + deep : 0;
#pragma unroll
      for (int lines = 0; lines < kLines; lines += kLinesAPass) {
        const int line = t / 8 + lines;
        CopyAsync<4>(stage + deep * kPitch + line, x.At(depth, min(first + line, x.lines - 1)),
                     exists);
      }
    }
  } else {
    constexpr int kWords = kLines / 4, kDepthsAPass = kThreads / kWords;
    static_assert(kThreads % kWords == 0 && kDepth % kDepthsAPass == 0);
    const int line = t % kWords * 4;
#pragma unroll
    for (int deeps = 0; deeps < kDepth; deeps += kDepthsAPass) {
      const int deep = t / kWords + deeps;
      const bool exists = depth0 + deep < x.depth;
      const int depth = exists ? depth0 + deep : 0;
      float* to = stage + deep * kPitch + line;
      if (x.whole_words) {
        CopyAsync<16>(to, x.At(min(first + line, x.lines - 4), depth), exists);
      } else {
#pragma unroll 1
        for (int i = 0; i < 4; ++i) {
          CopyAsync<4>(to + i, x.At(min(first + line + i, x.lines - 1), depth), exists);
        }
      }
    }
  }
}

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

template <typename T>
struct Fragments {
  float4 a[T::kChunksM], b[T::kChunksN];

  __device__ void Load(const float* stage, const ThreadPlace<T>& place, int l) {
    const float* of_a = stage + l * T::kPitchA + place.row;
    const float* of_b = stage + T::kDepth * T::kPitchA + l * T::kPitchB + place.col;
#pragma unroll
    for (int i = 0; i < T::kChunksM; ++i) a[i] = *reinterpret_cast<const float4*>(of_a + i * 32);
#pragma unroll
    for (int j = 0; j < T::kChunksN; ++j) b[j] = *reinterpret_cast<const float4*>(of_b + j * 16);
  }
};

template <typename T>
using Sums = float4[T::kChunksM * 4][T::kChunksN];

template <typename T>
__device__ void MultiplyAdd(const Fragments<T>& x, Sums<T>& sums) {
#pragma unroll
  for (int i = 0; i < T::kChunksM; ++i) {
    const float of_a[4] = {x.a[i].x, x.a[i].y, x.a[i].z, x.a[i].w};
#pragma unroll
    for (int r = 0; r < 4; ++r) {
#pragma unroll
      for (int j = 0; j < T::kChunksN; ++j) {
        float4& sum = sums[i * 4 + r][j];
        sum.x += of_a[r] * x.b[j].x;
        sum.y += of_a[r] * x.b[j].y;
        sum.z += of_a[r] * x.b[j].z;
        sum.w += of_a[r] * x.b[j].w;
      }
    }
  }
}

template <typename T>
__device__ void StoreTile(float* c, int m, int n, int row0, int col0, const Sums<T>& sums) {
#pragma unroll
  for (int i = 0; i < T::kChunksM * 4; ++i) {
    const int row = row0 + i / 4 * 32 + i % 4;
    if (row >= m) continue;
#pragma unroll
    for (int j = 0; j < T::kChunksN; ++j) {
      const int col = col0 + j * 16;
      float* to = c + static_cast<std::int64_t>(row) * n + col;
      if (n % 4 == 0) {
        if (col < n) *reinterpret_cast<float4*>(to) = sums[i][j];
      } else {
        if (col < n) to[0] = sums[i][j].x;
        if (col + 1 < n) to[1] = sums[i][j].y;
        if (col + 2 < n) to[2] = sums[i][j].z;
        if (col + 3 < n) to[3] = sums[i][j].w;
      }
    }
  }
}

template <typename T, bool kAStoredKxM, bool kBStoredNxK>
__global__ void __launch_bounds__(T::kThreads, T::kBlocks)
    RegisterTiledKernel(LinesByDepth a, LinesByDepth b, float* c) {
  extern __shared__ __align__(16) float ring[];
  const TilePlace tile = PlaceOfTile<T::kBlockM, T::kBlockN>(a.lines, b.lines);
  const ThreadPlace<T> place;
  const auto copy = [&](int stage, int step) {
    float* to = ring + stage * T::kStageFloats;
    CopyStage<T::kBlockM, T::kPitchA, T::kDepth, T::kThreads, !kAStoredKxM>(to, a, tile.row,
                                                                            step * T::kDepth);
    CopyStage<T::kBlockN, T::kPitchB, T::kDepth, T::kThreads, kBStoredNxK>(
        to + T::kDepth * T::kPitchA, b, tile.col, step * T::kDepth);
  };
  const int steps = (a.depth - 1) / T::kDepth + 1;
  // A group a stage, an empty one past the end: the count to wait for stays the same.
#pragma unroll
  for (int stage = 0; stage < T::kStages - 1; ++stage) {
    if (stage < steps) copy(stage, stage);
    CommitCopies();
  }
  Sums<T> sums = {};
  Fragments<T> fragments[T::kFragments];
  WaitForCopies<T::kStages - 2>();
  __syncthreads();
  if constexpr (T::kFragments == 2) fragments[0].Load(ring, place, 0);
  int reading = 0, writing = T::kStages - 1;
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
#pragma unroll
    for (int l = 0; l < T::kDepth; ++l) {
      if (T::kFragments == 1) fragments[0].Load(ring + reading * T::kStageFloats, place, l);
      if (l == T::kDepth - 1) {
        // The next stage is there, and all have read the last of this one.
        WaitForCopies<T::kStages - 2>();
        __syncthreads();
        reading = reading + 1 == T::kStages ? 0 : reading + 1;
      }
      if (T::kFragments == 2) {
        fragments[(l + 1) % T::kFragments].Load(ring + reading * T::kStageFloats, place,
                                                (l + 1) % T::kDepth);
      }
      if (l == 0) {
        // The stage that was read before this one.
        if (step + T::kStages - 1 < steps) copy(writing, step + T::kStages - 1);
        CommitCopies();
        writing = writing + 1 == T::kStages ? 0 : writing + 1;
      }
      MultiplyAdd<T>(fragments[l % T::kFragments], sums);
    }
  }
  StoreTile<T>(c, a.lines, b.lines, tile.row + place.row, tile.col + place.col, sums);
}

}  // namespace kbench::cuda
