// fp32 matmul on the CUDA cores, with every product an IEEE one. A block holds a tile of C in its
// registers; the operands come through a ring of stages in shared memory that cp.async fills.
// Device code; the host side is register_tiled_matmul.cu.
//
// What the shapes are for: a multiprocessor issues one instruction a cycle in each quarter, so all
// that is not a multiply-add takes its place. 8 x 8 elements a thread cost 4 loads of 16 bytes for
// 64 multiply-adds, 8 x 16 elements 6 for 128. An operand lies in shared memory as it does in
// global memory: where k is contiguous a thread loads four depths of a line at once, else four
// lines of a depth; nothing is transposed on the way, and every copy and load is of 16 bytes.
#pragma once

#include <cstdint>

#include "kernels/cuda/async_copy.cuh"
#include "kernels/cuda/matmul_raster.cuh"

namespace kbench::cuda {

// Lanes of a warp lie 8 x 4 over its tile.
template <int kBlockM_, int kBlockN_, int kWarpM_, int kWarpN_, int kDepth_, int kStages_,
          int kBlocks_>
struct RegisterTile {
  static constexpr int kBlockM = kBlockM_, kBlockN = kBlockN_;
  static constexpr int kWarpM = kWarpM_, kWarpN = kWarpN_;
  static constexpr int kDepth = kDepth_;    // of a stage along k
  static constexpr int kStages = kStages_;  // of the ring
  static constexpr int kBlocks = kBlocks_;  // that should share a multiprocessor
  static constexpr int kWarpsAcross = kBlockN / kWarpN;
  static constexpr int kThreads = kBlockM / kWarpM * kWarpsAcross * 32;
  static constexpr int kRows = kWarpM / 8, kCols = kWarpN / 4;  // of a thread
  static_assert(kStages >= 2 && kDepth % 4 == 0 && kRows % 4 == 0 && kCols % 4 == 0);
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

// An operand's part of a stage: kLines of a block of kThreads, of which a thread needs kEach, in a
// warp whose lanes lie kLanes along the lines.
template <typename T, int kLines, int kEach, int kLanes, bool kDepthContiguous>
struct OperandStage {
  static constexpr int kInner = kDepthContiguous ? T::kDepth : kLines;
  static constexpr int kOuter = kDepthContiguous ? kLines : T::kDepth;
  // Four more than a row holds: eight rows then lie in different banks.
  static constexpr int kPitch = kInner + 4;
  static constexpr int kFloats = kOuter * kPitch;

  // The line, from the warp's first, of a lane's element i.
  __device__ static int Line(int lane, int i) {
    return kDepthContiguous ? lane + i * kLanes : lane * 4 + i / 4 * 4 * kLanes + i % 4;
  }

  // Lines past the last are the last one's: what they give is not stored. Depths past the last are
  // zeros.
  __device__ static void Copy(float* stage, const LinesByDepth& x, int first, int depth0) {
    constexpr int kWords = kInner / 4;
    static_assert(kWords * kOuter % T::kThreads == 0);
#pragma unroll
    for (int pass = 0; pass < kWords * kOuter / T::kThreads; ++pass) {
      const int at = static_cast<int>(threadIdx.x) + pass * T::kThreads;
      const int outer = at / kWords, inner = at % kWords * 4;
      float* to = stage + outer * kPitch + inner;
      if (x.whole_words) {
        CopyWord(to, x, first, depth0, outer, inner);
      } else {
#pragma unroll 1
        for (int i = 0; i < 4; ++i) CopyOne(to + i, x, first, depth0, outer, inner + i);
      }
    }
  }
  // Of four depths from `depth`: of each line, or of as many lines at once.
  __device__ static void Load(const float* stage, int lane, int depth, float (&group)[4][kEach]) {
    if constexpr (kDepthContiguous) {
#pragma unroll
      for (int i = 0; i < kEach; ++i) {
        const auto word =
            *reinterpret_cast<const float4*>(stage + (lane + i * kLanes) * kPitch + depth);
        group[0][i] = word.x;
        group[1][i] = word.y;
        group[2][i] = word.z;
        group[3][i] = word.w;
      }
    } else {
#pragma unroll
      for (int l = 0; l < 4; ++l) {
#pragma unroll
        for (int i = 0; i < kEach; i += 4) {
          const auto word = *reinterpret_cast<const float4*>(stage + (depth + l) * kPitch +
                                                             lane * 4 + i * kLanes);
          group[l][i] = word.x;
          group[l][i + 1] = word.y;
          group[l][i + 2] = word.z;
          group[l][i + 3] = word.w;
        }
      }
    }
  }

  // From the block's first line to that of a warp.
  __device__ static const float* Warp(const float* stage, int first) {
    return stage + (kDepthContiguous ? first * kPitch : first);
  }

 private:
  __device__ static void CopyWord(float* to, const LinesByDepth& x, int first, int depth0,
                                  int outer, int inner) {
    if constexpr (kDepthContiguous) {
      const bool exists = depth0 + inner < x.depth;
      CopyAsync<16>(to, x.At(exists ? depth0 + inner : 0, min(first + outer, x.lines - 1)), exists);
    } else {
      const bool exists = depth0 + outer < x.depth;
      CopyAsync<16>(to, x.At(min(first + inner, x.lines - 4), exists ? depth0 + outer : 0), exists);
    }
  }
  __device__ static void CopyOne(float* to, const LinesByDepth& x, int first, int depth0, int outer,
                                 int inner) {
    const int line = min(first + (kDepthContiguous ? outer : inner), x.lines - 1);
    const int depth = depth0 + (kDepthContiguous ? inner : outer);
    const bool exists = depth < x.depth;
    const int valid = exists ? depth : 0;
    CopyAsync<4>(to, kDepthContiguous ? x.At(valid, line) : x.At(line, valid), exists);
  }
};

template <typename T, bool kAStoredKxM>
using StageOfA = OperandStage<T, T::kBlockM, T::kRows, 8, !kAStoredKxM>;
template <typename T, bool kBStoredNxK>
using StageOfB = OperandStage<T, T::kBlockN, T::kCols, 4, kBStoredNxK>;

template <typename T, bool kAStoredKxM, bool kBStoredNxK>
constexpr int kRingBytes = T::kStages*(StageOfA<T, kAStoredKxM>::kFloats +
                                       StageOfB<T, kBStoredNxK>::kFloats) *
                           static_cast<int>(sizeof(float));

// Where a thread is in its block. Neighbouring lanes share their rows, lanes two apart their
// columns: a load of 16 bytes a lane then takes two passes through shared memory, not four.
template <typename T>
struct ThreadPlace {
  int warp_row, warp_col, lane_row, lane_col;
  __device__ ThreadPlace() {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    lane_col = (lane & 1) | (lane >> 2 & 2);
    lane_row = (lane >> 1 & 3) | (lane >> 2 & 4);
    warp_row = warp / T::kWarpsAcross * T::kWarpM;
    warp_col = warp % T::kWarpsAcross * T::kWarpN;
  }
};

template <typename T, bool kAStoredKxM, bool kBStoredNxK>
__device__ void StoreTile(float* c, int m, int n, const TilePlace& tile,
                          const ThreadPlace<T>& place, const float (&sums)[T::kRows][T::kCols]) {
  using B = StageOfB<T, kBStoredNxK>;
#pragma unroll
  for (int i = 0; i < T::kRows; ++i) {
    const int row = tile.row + place.warp_row + StageOfA<T, kAStoredKxM>::Line(place.lane_row, i);
    if (row >= m) continue;
    float* of_row = c + static_cast<std::int64_t>(row) * n;
#pragma unroll
    for (int j = 0; j < T::kCols; j += 4) {
      const int col = tile.col + place.warp_col + B::Line(place.lane_col, j);
      if (!kBStoredNxK && n % 4 == 0) {
        if (col < n) {
          *reinterpret_cast<float4*>(of_row + col) =
              make_float4(sums[i][j], sums[i][j + 1], sums[i][j + 2], sums[i][j + 3]);
        }
      } else {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const int at = tile.col + place.warp_col + B::Line(place.lane_col, j + e);
          if (at < n) of_row[at] = sums[i][j + e];
        }
      }
    }
  }
}

template <typename T, bool kAStoredKxM, bool kBStoredNxK>
__global__ void __launch_bounds__(T::kThreads, T::kBlocks)
    RegisterTiledKernel(LinesByDepth a, LinesByDepth b, float* c) {
  using A = StageOfA<T, kAStoredKxM>;
  using B = StageOfB<T, kBStoredNxK>;
  extern __shared__ __align__(16) float ring[];
  const TilePlace tile = PlaceOfTile<T::kBlockM, T::kBlockN>(a.lines, b.lines);
  const ThreadPlace<T> place;
  const auto copy = [&](int stage, int step) {
    float* to = ring + stage * (A::kFloats + B::kFloats);
    A::Copy(to, a, tile.row, step * T::kDepth);
    B::Copy(to + A::kFloats, b, tile.col, step * T::kDepth);
  };
  const int steps = (a.depth - 1) / T::kDepth + 1;
  // A group a stage, an empty one past the end: the count to wait for stays the same.
#pragma unroll
  for (int stage = 0; stage < T::kStages - 1; ++stage) {
    if (stage < steps) copy(stage, stage);
    CommitCopies();
  }
  float sums[T::kRows][T::kCols] = {};
  int reading = 0, writing = T::kStages - 1;
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
    WaitForCopies<T::kStages - 2>();
    __syncthreads();  // this stage is there, and all are done with the one before it
    if (step + T::kStages - 1 < steps) copy(writing, step + T::kStages - 1);
    CommitCopies();
    const float* stage = ring + reading * (A::kFloats + B::kFloats);
    const float* of_a = A::Warp(stage, place.warp_row);
    const float* of_b = B::Warp(stage + A::kFloats, place.warp_col);
#pragma unroll
    for (int depth = 0; depth < T::kDepth; depth += 4) {
      float group_a[4][T::kRows], group_b[4][T::kCols];
      A::Load(of_a, place.lane_row, depth, group_a);
      B::Load(of_b, place.lane_col, depth, group_b);
#pragma unroll
      for (int l = 0; l < 4; ++l) {
#pragma unroll
        for (int i = 0; i < T::kRows; ++i) {
#pragma unroll
          for (int j = 0; j < T::kCols; ++j) {
            const int at = i % 2 == 0 ? j : T::kCols - 1 - j;  // there and back: b is used twice
            sums[i][at] += group_a[l][i] * group_b[l][at];
          }
        }
      }
    }
    writing = reading;
    reading = reading + 1 == T::kStages ? 0 : reading + 1;
  }
  StoreTile<T, kAStoredKxM, kBStoredNxK>(c, a.lines, b.lines, tile, place, sums);
}

}  // namespace kbench::cuda
