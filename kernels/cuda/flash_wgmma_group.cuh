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
    int at = __ldg(x_.schedule + blockIdx.x);
    const int end = __ldg(x_.schedule + blockIdx.x + 1);
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
    while (true) {
      const bool add = n_ > 0, turn = ++n_ == key_tiles_;
      if (turn) {
        if (++at == end) break;
        q_.Next();
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
      const float sum[2] = {rows_.sum[0], rows_.sum[1]};
      if (turn) Begin(at);
      Probabilities(scores);
      WgmmaWait<0>();
      KeepInRegisters(output);
      ReleaseV();
      PackProbabilities<Half, T::kKeys>(scores, p);
      if (turn) {
        Finish(output, sum, q_.Previous());
      } else {
        ScaleRows(output, rows_.shrink);
      }
      KeepInRegisters(p);
      KeepInRegisters(output);
    }
    WaitV();
    StartOutput(output, p, key_tiles_ > 1);
    WgmmaWait<0>();
    KeepInRegisters(output);
    Finish(output, rows_.sum, q_.at);
    if (group_ == 0) TakeToken();  // leaves no arrival behind
  }

 private:
  using Half = typename T::Half;

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
    key_tiles_ = tile.key_tiles;
    n_ = 0;
    ClearRows(rows_);
  }

  __device__ __forceinline__ void WaitQ() const { BarrierWait(barriers_.q_full + q_.at, q_.phase); }
  __device__ __forceinline__ void WaitK() const { BarrierWait(barriers_.k_full + k_.at, k_.phase); }
  __device__ __forceinline__ void WaitV() const { BarrierWait(barriers_.v_full + v_.at, v_.phase); }
  __device__ __forceinline__ void ReleaseK() {
    if (threadIdx.x % 32 == 0) BarrierArrive(barriers_.k_empty + k_.at);
    k_.Next();
  }
  __device__ __forceinline__ void ReleaseV() {
    if (threadIdx.x % 32 == 0) BarrierArrive(barriers_.v_empty + v_.at);
    v_.Next();
  }

  __device__ __forceinline__ void StartScores(float (&scores)[T::kKeys / 2]) const {
    WgmmaFence();
    StartQK<T::kDType, T::kHead, T::kRows, T::kKeys>(scores,
                                                     DescribeKMajor(q_base_ + q_.at * T::kQBytes),
                                                     Advance(k_tiles_, k_.at * T::kKeyBytes));
  }
  __device__ __forceinline__ void StartOutput(float (&output)[T::kHead / 2],
                                              const std::uint32_t (&p)[T::kKeys / 16][4],
                                              bool add) const {
    WgmmaFence();
    StartPV<T::kDType, T::kHead, T::kKeys>(output, p, Advance(v_tiles_, v_.at * T::kKeyBytes), add);
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

  // Normalises the output of the query tile whose Q lies in buffer `at`, and leaves it there.
  __device__ __forceinline__ void Finish(float (&output)[T::kHead / 2], const float (&sum)[2],
                                         unsigned at) const {
    const float inverse[2] = {1 / QuadSum(sum[0]), 1 / QuadSum(sum[1])};
    ScaleRows(output, inverse);
    NamedBarrierSync(1 + T::kGroups + group_, 128);  // all of the group have read their Q
    WriteOutput<Half, T::kHead, T::kRows>(output, q_base_ + at * T::kQBytes);
    FenceAsyncProxy();
    BarrierArrive(&barriers_.o_full[at][group_]);
  }

  const FlashWgmmaArguments& x_;
  typename T::Barriers& barriers_;
  const unsigned group_;
  const std::uint32_t q_base_;
  const std::uint64_t k_tiles_, v_tiles_;  // descriptors
  typename T::QRing q_;
  typename T::KeyRing k_, v_;
  // The query tile whose scores are computed, and the key tile in it.
  int row_, unmasked_, key_tiles_, n_;
  RowState rows_;
};

}  // namespace kbench::cuda
