// What one consumer warp group of cuda/flash-wgmma holds in registers, and the arithmetic on it:
// 64 query rows against a tile of keys. A thread has two rows, 8 apart, and of each the columns
// 2 t, 2 t + 1 of every eight (t = lane % 4). Device code, sm_90a.
#pragma once

#include <cstdint>

#include "kernels/cuda/attention_math.cuh"
#include "kernels/cuda/element.cuh"
#include "kernels/cuda/mma.cuh"
#include "kernels/cuda/wgmma.cuh"

namespace kbench::cuda {

constexpr int kGroupRows = 64;
constexpr int kPanelRowBytes = 128;  // tiles lie in panels of 64 columns, swizzled by TMA

// KeepInRegisters for probabilities.
template <int kSteps>
__device__ __forceinline__ void KeepInRegisters(std::uint32_t (&p)[kSteps][4]) {
#pragma unroll
  for (int i = 0; i < 4 * kSteps; ++i) asm volatile("" : "+r"(p[i / 4][i % 4])::"memory");
}

// Running state of the softmax of a thread's two rows.
struct RowState {
  float largest[2];  // of raw scores
  float sum[2];      // of this thread's columns
  float shrink[2];   // what the last tile multiplied everything before it with
};

__device__ __forceinline__ void ClearRows(RowState& rows) {
  rows.largest[0] = rows.largest[1] = -INFINITY;
  rows.sum[0] = rows.sum[1] = 0;
}

// Starts scores = Q K^T; q and k are descriptors of tiles of kQRows and kKeys rows.
template <DType D, int kHead, int kQRows, int kKeys>
__device__ __forceinline__ void StartQK(float (&scores)[kKeys / 2], std::uint64_t q,
                                        std::uint64_t k) {
#pragma unroll
  for (int step = 0; step < kHead / 16; ++step) {
    const std::uint32_t panel = step / 4, within = step % 4 * 32;
    Wgmma<D, kKeys>(scores, Advance(q, panel * kQRows * kPanelRowBytes + within),
                    Advance(k, panel * kKeys * kPanelRowBytes + within), step > 0);
  }
  WgmmaCommit();
}

// Starts output (+)= P V; v describes kKeys rows.
template <DType D, int kHead, int kKeys>
__device__ __forceinline__ void StartPV(float (&output)[kHead / 2],
                                        const std::uint32_t (&p)[kKeys / 16][4], std::uint64_t v,
                                        bool add) {
#pragma unroll
  for (int step = 0; step < kKeys / 16; ++step) {
    Wgmma<D, kHead, true>(output, p[step], Advance(v, step * 16 * kPanelRowBytes), add || step > 0);
  }
  WgmmaCommit();
}

// -infinity for the keys that a row does not see: it sees `visible` of this tile, and the row eight
// further on `visible + later` of it, but never more than `present`.
template <int kKeys>
__device__ __forceinline__ void MaskScores(float (&scores)[kKeys / 2], int visible, int later,
                                           int present) {
  const int column = threadIdx.x % 4 * 2;
  const int limit[2] = {min(visible, present) - column, min(visible + later, present) - column};
#pragma unroll
  for (int i = 0; i < kKeys / 2; ++i) {
    if (i / 4 * 8 + i % 2 >= limit[i / 2 % 2]) scores[i] = -INFINITY;
  }
}

// Scores to probabilities, relative to the maximum so far. `scale` is log2(e) / sqrt(d).
template <int kKeys>
__device__ __forceinline__ void Softmax(float (&scores)[kKeys / 2], RowState& rows, float scale) {
  float offset[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float largest = rows.largest[half];
#pragma unroll
    for (int i = 2 * half; i < kKeys / 2; i += 4) {
      largest = fmaxf(largest, fmaxf(scores[i], scores[i + 1]));
    }
    largest = QuadMax(largest);
    const float finite = largest == -INFINITY ? 0 : largest;  // a row may see none of these keys
    rows.shrink[half] = Exp2((rows.largest[half] - finite) * scale);
    rows.largest[half] = largest;
    rows.sum[half] *= rows.shrink[half];
    offset[half] = finite * scale;
  }
#pragma unroll
  for (int i = 0; i < kKeys / 2; ++i) {
    scores[i] = Exp2(scores[i] * scale - offset[i / 2 % 2]);
    rows.sum[i / 2 % 2] += scores[i];
  }
}

// The accumulator of two neighbouring columns of eight is the operand A of 16 keys.
template <typename Half, int kKeys>
__device__ __forceinline__ void PackProbabilities(const float (&scores)[kKeys / 2],
                                                  std::uint32_t (&p)[kKeys / 16][4]) {
#pragma unroll
  for (int i = 0; i < kKeys / 4; ++i) {
    p[i / 4][i % 4] = PackHalves<Half>(scores[2 * i], scores[2 * i + 1]);
  }
}

template <int kCount>
__device__ __forceinline__ void ScaleRows(float (&output)[kCount], const float (&factor)[2]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) output[i] *= factor[i / 2 % 2];
}

// Writes the group's normalised rows as halves into panels of kTileRows rows, at the group's first
// row in shared memory, as TMA expects them.
template <typename Half, int kHead, int kTileRows>
__device__ __forceinline__ void WriteOutput(const float (&output)[kHead / 2],
                                            std::uint32_t address) {
  const int lane = threadIdx.x % 32;
  const int row = threadIdx.x % 128 / 32 * 16 + lane % 16;
#pragma unroll
  for (int j = 0; j < kHead / 16; ++j) {
    std::uint32_t matrices[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      matrices[i] = PackHalves<Half>(output[8 * j + 2 * i], output[8 * j + 2 * i + 1]);
    }
    const int chunk = j % 4 * 2 + lane / 16;
    StoreMatrices(address + j / 4 * kTileRows * kPanelRowBytes + row * kPanelRowBytes +
                      ((chunk ^ (row & 7)) << 4),
                  matrices);
  }
}

}  // namespace kbench::cuda
