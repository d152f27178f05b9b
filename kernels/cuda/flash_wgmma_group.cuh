// One consumer warp group of cuda/flash-wgmma: 64 query rows of each tile of its block's schedule.
// Device code, sm_90a.
#pragma once

#include <cstdint>

#include "kernels/cuda/flash_wgmma_rows.cuh"
#include "kernels/cuda/flash_wgmma_traits.cuh"
#include "kernels/cuda/mbarrier.cuh"

namespace kbench::cuda {

// All 128 threads of the group call everything together.
template <typename T>
class Group {
 public:
  __device__ __forceinline__ Group(const FlashWgmmaArguments& x, unsigned char* shared,
                                   typename T::Barriers& barriers)
      : x_(x),
        barriers_(barriers),
        group_(threadIdx.x / 128 - 1),
        q_base_(SharedAddress(shared) + group_ * kGroupRows * kPanelRowBytes),
        k_tiles_(DescribeKMajor(SharedAddress(shared) + T::kAtK)),
        v_tiles_(DescribeMnMajor(SharedAddress(shared) + T::kAtV, T::kKeys * kPanelRowBytes)) {}

  // The key tiles of all query tiles are one stream: while the last probabilities meet V, the
  // scores of the next keys are computed, be they of this query tile or of the next, and their
  // softmax runs under both.
  __device__ __forceinline__ void Run() {
    int at = __ldg(x_.offsets + blockIdx.x);
    const int end = __ldg(x_.offsets + blockIdx.x + 1);
    if (at == end) return;
    if (group_ == T::kGroups - 1) PassToken();
    float scores[T::kKeys / 2], output[T::kHead / 2];
    std::uint32_t p[T::kKeys / 16][4];
    Begin(at);
    WaitQ();
    WaitK();
    StartScores(scores);
    WgmmaWait<0>();
    KeepInRegisters(scores);
    ReleaseK();
    Probabilities(scores);
    PackProbabilities<Half, T::kKeys>(scores, p);
    bool turn = true, add;  // the scores at hand are a segment's first; p is not
    while (true) {
      ++keys_;
      add = !turn;
      turn = ++n_ == end_;
      if (turn) {
        if (++at == end) break;
        ++queries_;
        WaitQ();
      }
      WaitK();
      TakeToken();
      StartScores(scores);
      WaitV();
      StartOutput(output, p, add);
      PassToken();
      WgmmaWait<1>();
      KeepInRegisters(scores);
      ReleaseK();
      const RowState before = rows_;
      if (turn) Begin(at);
      Probabilities(scores);
      WgmmaWait<0>();
      KeepInRegisters(output);
      ReleaseV();
      PackProbabilities<Half, T::kKeys>(scores, p);
      if (turn) {
        Finish(output, before, at - 1, QBuffer(queries_ - 1));
      } else if (!kSeldomScales || RowsGrew()) {
        ScaleRows(output, rows_.shrink);
      }
      KeepInRegisters(p);
      KeepInRegisters(output);
    }
    WaitV();
    StartOutput(output, p, add);
    WgmmaWait<0>();
    KeepInRegisters(output);
    ReleaseV();
    Finish(output, rows_, end - 1, QBuffer(queries_));
    if (group_ == 0) TakeToken();  // leaves no arrival behind
    CombineParts();
  }

 private:
  using Half = typename T::Half;
  static constexpr int kOutputs = T::kHead / 2;
  // Maxima grow seldom after the first tiles; to ask costs less than to scale only where the
  // softmax is most of the time.
  static constexpr bool kSeldomScales = T::kHead == 64;

  __device__ __forceinline__ bool RowsGrew() const {
    return __any_sync(0xffffffffu, rows_.shrink[0] != 1 || rows_.shrink[1] != 1);
  }

  // Named barriers: 1 + group is the group's token, 1 + kGroups + group the group's own.
  __device__ __forceinline__ void TakeToken() const { NamedBarrierSync(1 + group_, 256); }
  __device__ __forceinline__ void PassToken() const {
    NamedBarrierArrive(group_ + 1 == T::kGroups ? 1 : 2 + group_, 256);
  }

  __device__ __forceinline__ void Begin(int index) {
    const QueryTile<T> tile(x_, index);
    const int first_row = tile.row0 + static_cast<int>(group_) * kGroupRows;
    row_ = first_row + static_cast<int>(threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4);
    unmasked_ = min(x_.s, x_.causal ? first_row + 1 : x_.s) / T::kKeys;
    n_ = tile.segment.first_key_tile;
    end_ = tile.segment.end_key_tile;
    ClearRows(rows_);
  }

  __device__ __forceinline__ static unsigned QBuffer(unsigned query) { return query % T::kQStages; }
  __device__ __forceinline__ void WaitQ() const {
    BarrierWait(barriers_.q_full + QBuffer(queries_), queries_ / T::kQStages % 2);
  }
  // K of the keys_th key tile, V of the one before.
  __device__ __forceinline__ static unsigned Stage(unsigned tile) { return tile % T::kStages; }
  __device__ __forceinline__ static unsigned Phase(unsigned tile) { return tile / T::kStages % 2; }
  __device__ __forceinline__ void WaitK() const {
    BarrierWait(barriers_.k_full + Stage(keys_), Phase(keys_));
  }
  __device__ __forceinline__ void WaitV() const {
    BarrierWait(barriers_.v_full + Stage(keys_ - 1), Phase(keys_ - 1));
  }
  __device__ __forceinline__ void ReleaseK() const {
    if (threadIdx.x % 32 == 0) BarrierArrive(barriers_.k_empty + Stage(keys_));
  }
  __device__ __forceinline__ void ReleaseV() const {
    if (threadIdx.x % 32 == 0) BarrierArrive(barriers_.v_empty + Stage(keys_ - 1));
  }

  __device__ __forceinline__ void StartScores(float (&scores)[T::kKeys / 2]) const {
    WgmmaFence();
    StartQK<T::kDType, T::kHead, T::kRows, T::kKeys>(
        scores, DescribeKMajor(q_base_ + QBuffer(queries_) * T::kQBytes),
        Advance(k_tiles_, Stage(keys_) * T::kKeyBytes));
  }
  __device__ __forceinline__ void StartOutput(float (&output)[T::kHead / 2],
                                              const std::uint32_t (&p)[T::kKeys / 16][4],
                                              bool add) const {
    WgmmaFence();
    StartPV<T::kDType, T::kHead, T::kKeys>(output, p,
                                           Advance(v_tiles_, Stage(keys_ - 1) * T::kKeyBytes), add);
  }
  // Masks the scores of key tile n_ and makes them probabilities.
  __device__ __forceinline__ void Probabilities(float (&scores)[T::kKeys / 2]) {
    if (n_ >= unmasked_) {
      const int first = n_ * T::kKeys;
      MaskScores<T::kKeys>(scores, x_.causal ? row_ + 1 - first : T::kKeys, x_.causal ? 8 : 0,
                           x_.s - first);
    }
    Softmax<T::kKeys>(scores, rows_, x_.scale);
  }

  // The output of segment `index`, whose Q lies in buffer `at`, is complete: leaves it there to be
  // stored, or, if it is a part, in global memory.
  __device__ __forceinline__ void Finish(float (&output)[kOutputs], const RowState& rows, int index,
                                         unsigned at) const {
    NamedBarrierSync(1 + T::kGroups + group_, 128);  // all of the group have read their Q
    const bool whole = x_.segments[index].parts == 1;
    if (threadIdx.x % 128 == 0) barriers_.store[at][group_] = whole ? 1 : 0;
    if (whole) {
      const float inverse[2] = {1 / QuadSum(rows.sum[0]), 1 / QuadSum(rows.sum[1])};
      ScaleRows(output, inverse);
      WriteOutput<Half, T::kHead, T::kRows>(output, q_base_ + at * T::kQBytes);
      FenceAsyncProxy();
    } else {
      WritePart(output, rows, Part(x_.segments[index].slot));
    }
    BarrierArrive(&barriers_.o_full[at][group_]);
  }

  // This thread's share of a part.
  __device__ __forceinline__ float* Part(int slot) const {
    const std::int64_t part = std::int64_t{slot} * T::kGroups + group_;
    return x_.partial + part * T::kPartFloats * 128 + threadIdx.x % 128;
  }
  __device__ __forceinline__ static void WritePart(const float (&output)[kOutputs],
                                                   const RowState& rows, float* part) {
#pragma unroll
    for (int i = 0; i < kOutputs; ++i) part[i * 128] = output[i];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      part[(kOutputs + half) * 128] = rows.largest[half];
      part[(kOutputs + 2 + half) * 128] = rows.sum[half];
    }
  }

  // At the end of the block's work: of each tile of which it did a part, the group that is the last
  // to get here adds all parts. They are added in the order of their keys whoever that is, so
  // results repeat.
  __device__ __forceinline__ void CombineParts() const {
    const int end = __ldg(x_.offsets + blockIdx.x + 1);
    for (int i = __ldg(x_.offsets + blockIdx.x); i < end && x_.segments[i].parts > 1; ++i) {
      const AttentionSegment segment = x_.segments[i];
      __threadfence();
      NamedBarrierSync(1 + T::kGroups + group_, 128);
      if (threadIdx.x % 128 == 0) {
        unsigned* finished = x_.finished + segment.first_slot * T::kGroups + group_;
        const bool last = atomicAdd(finished, 1u) + 1 == static_cast<unsigned>(segment.parts);
        if (last) *finished = 0;  // for the next launch
        barriers_.last[group_] = last ? 1 : 0;
        __threadfence();
      }
      NamedBarrierSync(1 + T::kGroups + group_, 128);
      if (barriers_.last[group_] != 0) AddParts(segment, QueryTile<T>(x_, i));
    }
  }

  __device__ __forceinline__ void AddParts(const AttentionSegment& segment,
                                           const QueryTile<T>& tile) const {
    float output[kOutputs] = {}, sum[2] = {}, largest[2] = {-INFINITY, -INFINITY};
    for (int part = 0; part < segment.parts; ++part) {
      const float* from = Part(segment.first_slot + part);
      float old[2], added[2];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float theirs = __ldcg(from + (kOutputs + half) * 128);
        const float grown = fmaxf(largest[half], theirs);
        // The first part has keys that every row sees, so grown is finite.
        old[half] = Exp2((largest[half] - grown) * x_.scale);
        added[half] = Exp2((theirs - grown) * x_.scale);
        largest[half] = grown;
        sum[half] =
            sum[half] * old[half] + __ldcg(from + (kOutputs + 2 + half) * 128) * added[half];
      }
#pragma unroll
      for (int i = 0; i < kOutputs; ++i) {
        output[i] = output[i] * old[i / 2 % 2] + __ldcg(from + i * 128) * added[i / 2 % 2];
      }
    }
    const float inverse[2] = {1 / QuadSum(sum[0]), 1 / QuadSum(sum[1])};
    ScaleRows(output, inverse);
    const int row = tile.row0 + static_cast<int>(threadIdx.x - 128) / 32 * 16 +
                    static_cast<int>(threadIdx.x % 32 / 4);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      if (row + 8 * half >= x_.s) continue;
      const std::int64_t at = std::int64_t{tile.head} * x_.s + row + 8 * half;
      std::uint32_t* to = x_.output + at * kOutputs + threadIdx.x % 4;
#pragma unroll
      for (int i = 0; i < kOutputs / 4; ++i) {
        to[4 * i] = PackHalves<Half>(output[4 * i + 2 * half], output[4 * i + 2 * half + 1]);
      }
    }
  }

  const FlashWgmmaArguments& x_;
  typename T::Barriers& barriers_;
  const unsigned group_;
  const std::uint32_t q_base_;
  const std::uint64_t k_tiles_, v_tiles_;  // descriptors
  unsigned queries_ = 0, keys_ = 0;        // query tiles and key tiles before the ones at hand
  // The query tile whose scores are computed, and the key tile in it.
  int row_, unmasked_, end_, n_;
  RowState rows_;
};

}  // namespace kbench::cuda
