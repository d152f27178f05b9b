// What the consumers of cuda/wgmma matmul (wgmma_cooperative.cuh, wgmma_pingpong.cuh) share: the
// shapes of tiles, the ring of stages in shared memory and the thread that fills it. Device code
// for sm_90a.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "kernels/cuda/element.cuh"
#include "kernels/cuda/tma.cuh"
#include "kernels/cuda/wgmma.cuh"
#include "kernels/cuda/wgmma_work.cuh"

namespace kbench::cuda {

// kRows x kColumns of C, which two warp groups make together, each half of the rows. The blocks of
// a cluster work one above the other and share B.
template <int kRows_, int kColumns_, int kStages_, int kSlabs_, int kClusterBlocks_>
struct CooperativeTile {
  using Shape = CooperativeTile;
  static constexpr bool kPingpong = false;
  static constexpr int kRows = kRows_;
  static constexpr int kColumns = kColumns_;
  static constexpr int kStages = kStages_;
  static constexpr int kSlabs = kSlabs_;  // of each consumer
  static constexpr int kClusterBlocks = kClusterBlocks_;
  static constexpr int kClusterRows = kClusterBlocks, kClusterColumns = 1;

  static constexpr int kConsumers = 2;         // warp groups
  static constexpr int kConsumersOfStage = 2;  // that read the same one
  static constexpr int kBytesA = kRows * 128;
  static constexpr int kBytesB = kColumns * 128;
  static constexpr int kStageBytes = kBytesA + kBytesB;
  static constexpr int kSlabBytes = 64 * 128;
  static constexpr int kBarrierBytes = 16 * kStages;
  static constexpr int kSharedBytes =
      kStages * kStageBytes + kConsumers * kSlabs * kSlabBytes + kBarrierBytes;
  // Two blocks fit a multiprocessor where shared memory allows it: then the loading group is but a
  // warp, and registers stay as they were dealt out.
  static constexpr int kBlocks = kSharedBytes <= 113 * 1024 ? 2 : 1;
  static constexpr int kThreads = 128 * kConsumers + (kBlocks == 1 ? 128 : 32);
  static constexpr bool kSplits = kBlocks == 1;  // whether two clusters may share a tile
  static constexpr int kProducerRegisters = 40, kConsumerRegisters = 232;
};

// kRows x 128 of C, each made by one of two warp groups in turn. The blocks of a cluster work side
// by side and share A, the larger operand.
template <int kRows_, int kStages_, int kSlabs_, int kClusterBlocks_>
struct PingpongTile {
  using Shape = PingpongTile;
  static constexpr bool kPingpong = true;
  static constexpr int kRows = kRows_;
  static constexpr int kColumns = 128;
  static constexpr int kStages = kStages_;
  static constexpr int kSlabs = kSlabs_;  // of each consumer
  static constexpr int kClusterBlocks = kClusterBlocks_;
  static constexpr int kClusterRows = 1, kClusterColumns = kClusterBlocks;

  static constexpr int kConsumers = 2;
  static constexpr int kConsumersOfStage = 1;
  static constexpr int kBytesA = kRows * 128;
  static constexpr int kBytesB = kColumns * 128;
  static constexpr int kStageBytes = kBytesA + kBytesB;
  static constexpr int kSlabBytes = kRows / 2 * 128;
  static constexpr int kBarrierBytes = 16 * kStages;
  static constexpr int kSharedBytes =
      kStages * kStageBytes + kConsumers * kSlabs * kSlabBytes + kBarrierBytes;
  static constexpr int kBlocks = 1;
  static constexpr int kThreads = 128 * (kConsumers + 1);
  static constexpr bool kSplits = false;
  // 384 threads start with 168 each: 24 + 2 * 240 = 3 * 168.
  static constexpr int kProducerRegisters = 24, kConsumerRegisters = 240;
};

namespace wgmma_matmul {

// The ring of stages as one of its users sees it.
template <int kStages>
struct Place {
  int stage = 0;
  unsigned phase = 0;
  __device__ void Next() {
    if (++stage == kStages) {
      stage = 0;
      phase ^= 1;
    }
  }
  __device__ void Skip(int steps) {
    const unsigned to = static_cast<unsigned>(stage + steps);
    stage = static_cast<int>(to % kStages);
    phase ^= to / kStages & 1;
  }
};

template <typename Tile>
struct Shared {
  unsigned char* stages;
  unsigned char* slabs;
  std::uint64_t* full;
  std::uint64_t* empty;

  __device__ explicit Shared(unsigned char* memory) : stages(memory) {
    slabs = stages + Tile::kStages * Tile::kStageBytes;
    full = reinterpret_cast<std::uint64_t*>(slabs +
                                            Tile::kConsumers * Tile::kSlabs * Tile::kSlabBytes);
    empty = full + Tile::kStages;
  }
};

// Rows of C in a slab: of 64 columns in the tiles made in turn, of 128 bytes in the others.
template <DType D, typename Tile>
constexpr int SlabRows() {
  return Tile::kPingpong && D == DType::kTf32 ? Tile::kSlabBytes / 256 : Tile::kSlabBytes / 128;
}

constexpr int kPanelBytes = 64 * 128;  // 64 elements along m or n, 64 of depth

// An operand's part of a stage, kExtent along m or n. K-major: one box; MN-major: panels of 64. The
// kSharers blocks of a cluster that use the same load each a part of it, for all.
template <bool kMnMajor, int kExtent, int kSharers>
__device__ inline void LoadOperand(unsigned char* to, const CUtensorMap* map,
                                   std::uint64_t* barrier, int outer, int depth, int rank) {
  constexpr std::uint16_t kEverybody = (1 << kSharers) - 1;
  const auto load = [&](int at, int c0, int c1) {
    if constexpr (kSharers > 1) {
      TmaLoadMulticast(to + at, map, barrier, kEverybody, c0, c1);
    } else {
      TmaLoad(to + at, map, barrier, c0, c1);
    }
  };
  const int part = kSharers > 1 ? rank : 0;
  if constexpr (kMnMajor) {
    static_assert(kExtent % 64 == 0);
#pragma unroll
    for (int i = 0; i < kExtent / 64; ++i) {
      if (i % kSharers == part) load(i * kPanelBytes, outer + 64 * i, depth);
    }
  } else {
    constexpr int kPart = kExtent / kSharers;
    load(part * kPart * 128, depth, outer + part * kPart);
  }
}

// The thread that loads.
template <typename Tile, int kDepth, bool kMnA, bool kMnB>
__device__ inline void Produce(const Shared<Tile>& shared, const CUtensorMap* map_a,
                               const CUtensorMap* map_b, const TileWork& work) {
  const int rank = RankInCluster<Tile>();
  Place<Tile::kStages> place;
  Pieces<Tile> pieces(work);
  for (Piece piece; pieces.Next(piece);) {
    const Corner corner = FindCorner<Tile>(work.order, piece.tile);
    for (int step = piece.begin; step < piece.end; ++step, place.Next()) {
      std::uint64_t* full = &shared.full[place.stage];
      unsigned char* a = shared.stages + place.stage * Tile::kStageBytes;
      BarrierWait(&shared.empty[place.stage], place.phase ^ 1);
      BarrierArriveExpect(full, Tile::kStageBytes);
      LoadOperand<kMnA, Tile::kRows, Tile::kClusterColumns>(a, map_a, full, corner.row,
                                                            step * kDepth, rank);
      LoadOperand<kMnB, Tile::kColumns, Tile::kClusterRows>(a + Tile::kBytesA, map_b, full,
                                                            corner.column, step * kDepth, rank);
    }
  }
}

// Says that this warp has done with a stage, to every block that loads into it.
template <typename Tile>
__device__ inline void Release(const Shared<Tile>& shared, int stage) {
  const unsigned lane = threadIdx.x % 32;
  if constexpr (Tile::kClusterBlocks > 1) {
    if (lane < Tile::kClusterBlocks) BarrierArriveAt(&shared.empty[stage], lane);
  } else {
    if (lane == 0) BarrierArrive(&shared.empty[stage]);
  }
}

// Waits for the products of the stage before `place` and gives that one back; `before` is then the
// stage whose products are under way.
template <typename Tile>
__device__ inline void RetireStage(const Shared<Tile>& shared, Place<Tile::kStages>& place,
                                   int& before, bool first) {
  WgmmaWait<1>();
  if (!first) Release(shared, before);
  before = place.stage;
  place.Next();
}

// An operand's part of a stage, as wgmma reads it.
template <bool kMnMajor>
__device__ inline std::uint64_t DescribeOperand(std::uint32_t shared_address) {
  return kMnMajor ? DescribeMnMajor(shared_address, kPanelBytes) : DescribeKMajor(shared_address);
}

template <DType D>
__device__ inline std::uint32_t Pack(float low, float high) {
  if constexpr (D == DType::kFp16) {
    const __half2 both = __floats2half2_rn(low, high);
    return *reinterpret_cast<const std::uint32_t*>(&both);
  } else {
    const __nv_bfloat162 both = __floats2bfloat162_rn(low, high);
    return *reinterpret_cast<const std::uint32_t*>(&both);
  }
}

}  // namespace wgmma_matmul
}  // namespace kbench::cuda
