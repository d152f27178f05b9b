// The sizes of one instance of cuda/flash-wgmma: tiles, buffers, barriers, registers. For host and
// device code of that file.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "kernels/cuda/attention_schedule.h"
#include "kernels/cuda/element.cuh"
#include "kernels/cuda/flash_wgmma_rows.cuh"

namespace kbench::cuda {

// A ring of buffers: which one, and how many times the ring went round (its last bit).
template <int kCount>
struct Ring {
  unsigned at = 0, phase = 0;
  __device__ __forceinline__ void Next() {
    if (++at == kCount) {
      at = 0;
      phase ^= 1;
    }
  }
};

// kGroups consumer warp groups; tiles of kKeys keys in kStages buffers for K and as many for V; Q
// in kQStages.
template <DType kDTypeOf, int kHeadSize, int kGroupCount, int kKeyCount, int kStageCount,
          int kQStageCount>
struct FlashWgmma {
  static constexpr DType kDType = kDTypeOf;
  using Half = typename Element<kDType>::Storage;
  static constexpr int kHead = kHeadSize, kGroups = kGroupCount, kKeys = kKeyCount;
  static constexpr int kStages = kStageCount, kQStages = kQStageCount;
  static_assert((kStages & (kStages - 1)) == 0);
  static_assert(kQStages >= 2);  // the next Q is needed before the last output is stored
  static constexpr int kRows = kGroups * kGroupRows;
  static constexpr int kPanels = kHead / 64;
  static constexpr int kThreads = 128 * (kGroups + 1);
  static constexpr unsigned kQBytes = kRows * kHead * 2, kKeyBytes = kKeys * kHead * 2;
  // A group that takes registers waits until the others have given theirs: together at most what
  // the block was launched with, 168 (three groups) or 128 (four) a thread.
  static constexpr int kProducerRegisters = kGroups == 2 ? 40 : 32;
  static constexpr int kConsumerRegisters = kGroups == 2 ? 232 : 160;
  static_assert(kProducerRegisters + kGroups * kConsumerRegisters <=
                (kGroups == 2 ? 168 * 3 : 128 * 4));

  static constexpr int kPartFloats = kHead / 2 + 4;  // of a thread: output, maxima, sums

  struct Barriers {
    std::uint64_t q_full[kQStages], q_empty[kQStages], o_full[kQStages][kGroups];
    std::uint64_t k_full[kStages], k_empty[kStages], v_full[kStages], v_empty[kStages];
    unsigned store[kQStages][kGroups];  // whether what o_full announces is to be stored
    unsigned last[kGroups];             // whether a group is to add up a tile's parts
  };
  static constexpr unsigned kAtK = kQStages * kQBytes;
  static constexpr unsigned kAtV = kAtK + kStages * kKeyBytes;
  static constexpr unsigned kAtBarriers = kAtV + kStages * kKeyBytes;
  static constexpr unsigned kAlignment = 1024;  // of swizzled tiles; the base may lack it
  static constexpr unsigned kSharedBytes = kAtBarriers + sizeof(Barriers) + kAlignment;
  static_assert(kSharedBytes <= 232448);
  using QRing = Ring<kQStages>;
  using KeyRing = Ring<kStages>;
};

struct FlashWgmmaArguments {
  CUtensorMap q, k, v, o;
  const int* offsets;  // of a block's segments
  const AttentionSegment* segments;
  std::uint32_t* output;  // pairs of halves; `o` where a tile is whole
  float* partial;         // results of parts: [slot][group][kPartFloats][128 threads]
  unsigned* finished;     // parts of a tile: [first slot][group]; 0 between launches
  int h, hkv, s, row_tiles;
  bool causal;
  float scale;
};

// A segment of the schedule.
template <typename T>
struct QueryTile {
  AttentionSegment segment;
  int head, row0;
  __device__ __forceinline__ QueryTile(const FlashWgmmaArguments& x, int index)
      : segment(x.segments[index]) {
    head = segment.tile / x.row_tiles;
    row0 = (segment.tile - head * x.row_tiles) * T::kRows;
  }
};

}  // namespace kbench::cuda
