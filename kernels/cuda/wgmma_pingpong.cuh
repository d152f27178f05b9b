// The consumers of cuda/wgmma matmul that make tiles in turn: while one warp group stores its tile,
// the other multiplies, so the tensor cores never wait for a tile's end. Device code for sm_90a.
//
// The products are those of the transposed matrices, C^T = B^T A^T: a warp group's 64 rows run
// along n, and the instruction's wide side is the tile's rows, any multiple of 16 where A is
// contiguous along k. Results are transposed on their way to shared memory.
#pragma once

#include "kernels/cuda/mma.cuh"
#include "kernels/cuda/wgmma_tile.cuh"

namespace kbench::cuda::wgmma_matmul {

// 64 columns x kRows rows of C into a slab of 128-byte lines, swizzled as the map of C says.
// `d` is as wgmma leaves it, columns of C down and rows across.
template <DType D, int kRows>
__device__ inline void FillTransposed(std::uint32_t slab, const float* d) {
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
  if constexpr (D != DType::kTf32) {
    // One slab line holds the 64 columns; matrices: 8 columns, the next 8, both for the next rows.
    const unsigned row = lane % 8, right = lane / 8 % 2, below = lane / 16;
    const std::uint32_t to = slab + (8 * below + row) * 128 + ((2 * warp + right) ^ row) * 16;
#pragma unroll
    for (int i = 0; i < kRows / 16; ++i) {
      const std::uint32_t four[4] = {
          Pack<D>(d[8 * i], d[8 * i + 1]), Pack<D>(d[8 * i + 2], d[8 * i + 3]),
          Pack<D>(d[8 * i + 4], d[8 * i + 5]), Pack<D>(d[8 * i + 6], d[8 * i + 7])};
      StoreMatricesTransposed(to + i * 16 * 128, four);
    }
  } else {
    // A line holds 32 columns: the lines of the other 32 follow those of the first.
    const unsigned column = 16 * (warp % 2) + lane / 4, row = lane % 4 * 2;
    const std::uint32_t lines = slab + warp / 2 * kRows * 128 + column % 4 * 4;
#pragma unroll
    for (int i = 0; i < kRows / 8; ++i) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const unsigned r = row + e % 2, piece = column / 4 + e / 2 * 2;
        asm volatile("st.shared.f32 [%0], %1;" ::"r"(lines + (8 * i + r) * 128 + (piece ^ r) * 16),
                     "f"(d[4 * i + e])
                     : "memory");
      }
    }
  }
}

template <DType D, typename Tile, bool kMnA, bool kMnB>
class PingpongConsumer {
 public:
  __device__ PingpongConsumer(const Shared<Tile>& shared, const CUtensorMap* map_c,
                              unsigned consumer)
      : shared_(shared),
        map_c_(map_c),
        slabs_(shared.slabs + consumer * Tile::kSlabs * Tile::kSlabBytes),
        consumer_(consumer) {
    const std::uint32_t a = SharedAddress(shared.stages);
    const std::uint32_t b = a + Tile::kBytesA;
    first_a_ = DescribeOperand<kMnA>(a);
    first_b_ = DescribeOperand<kMnB>(b);
  }

  __device__ void Run(const TileWork& work) {
    const TileOrder& order = work.order;
    const int steps = work.steps;
    const int first = Cluster<Tile>(), clusters = Clusters<Tile>();
    int tile = first;
    if (consumer_ == 1) {
      tile += clusters;
      place_.Skip(steps);
    }
    for (; tile < order.Count(); tile += 2 * clusters) {
      if (tile != first) WaitForTurn();
      for (int step = 0; step < steps; ++step) {
        Multiply(step == 0);
        Retire(step == 0);
      }
      if (tile + clusters < order.Count()) GiveTurn();
      place_.Skip(steps);
      corner_ = FindCorner<Tile>(order, tile);
      WgmmaWait<0>();
      Release(shared_, before_);
#pragma unroll
      for (int strip = 0; strip < kStrips; ++strip) KeepInRegisters(d_[strip]);
      StoreTile();
    }
    if (threadIdx.x % 128 == 0) TmaWait<0>();
  }

 private:
  static constexpr int kStrips = Tile::kColumns / 64;  // of 64 columns of C
  static constexpr int kSlabRows = SlabRows<D, Tile>();
  static constexpr int kSlabsOfStrip = Tile::kRows / kSlabRows;
  static_assert(kSlabRows % 16 == 0 || D == DType::kTf32);

  // All of a group's products of a tile come before those of the other's next tile: each of the
  // two named barriers is one group's turn, which the other gives.
  __device__ void WaitForTurn() { NamedBarrierSync(3 + consumer_, 256); }
  __device__ void GiveTurn() { NamedBarrierArrive(3 + (consumer_ ^ 1), 256); }

  // Starts the products of the next stage.
  __device__ void Multiply(bool first) {
    constexpr int kNextA = kMnA ? 2048 : 32, kNextB = kMnB ? 2048 : 32;
    BarrierWait(&shared_.full[place_.stage], place_.phase);
    const std::uint64_t a = Advance(first_a_, place_.stage * Tile::kStageBytes);
    const std::uint64_t b = Advance(first_b_, place_.stage * Tile::kStageBytes);
    WgmmaFence();
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
      for (int strip = 0; strip < kStrips; ++strip) {
        Wgmma<D, Tile::kRows, kMnB, kMnA>(d_[strip], Advance(b, i * kNextB + strip * 8192),
                                          Advance(a, i * kNextA), !first || i > 0);
      }
    }
    WgmmaCommit();
  }

  __device__ void Retire(bool first) { RetireStage(shared_, place_, before_, first); }

  __device__ void StoreTile() {
#pragma unroll
    for (int strip = 0; strip < kStrips; ++strip) {
#pragma unroll
      for (int i = 0; i < kSlabsOfStrip; ++i) {
        StoreSlab(d_[strip] + i * kSlabRows / 2, strip * 64, i * kSlabRows);
      }
    }
  }

  // Hands 64 columns of kSlabRows rows to TMA. Returns while it still reads the slab.
  __device__ void StoreSlab(const float* d, int column, int row) {
    const bool issuer = threadIdx.x % 128 == 0;
    unsigned char* slab = slabs_ + slab_ * Tile::kSlabBytes;
    if (++slab_ == Tile::kSlabs) slab_ = 0;
    if (issuer) TmaWaitRead<Tile::kSlabs - 1>();
    NamedBarrierSync(1 + consumer_, 128);
    FillTransposed<D, kSlabRows>(SharedAddress(slab), d);
    FenceAsyncProxy();
    NamedBarrierSync(1 + consumer_, 128);
    if (issuer) {
#pragma unroll
      for (int line = 0; line < (D == DType::kTf32 ? 2 : 1); ++line) {
        TmaStore(map_c_, slab + line * kSlabRows * 128, corner_.column + column + line * 32,
                 corner_.row + row);
      }
      TmaCommit();
    }
  }

  const Shared<Tile>& shared_;
  const CUtensorMap* map_c_;
  unsigned char* slabs_;
  unsigned consumer_;
  std::uint64_t first_a_, first_b_;
  Place<Tile::kStages> place_;
  int before_ = 0, slab_ = 0;
  Corner corner_{};  // of the tile to store
  float d_[kStrips][Tile::kRows / 2];
};

}  // namespace kbench::cuda::wgmma_matmul
