// The consumers of cuda/wgmma matmul that make one tile together, each half of its rows. A finished
// tile of 16-bit results waits packed in registers and goes to memory through slabs of shared
// memory, by TMA, while the next tile's first stages are multiplied. Of a tile that two clusters
// share, one leaves its sums in global memory for the other. Device code for sm_90a.
#pragma once

#include "kernels/cuda/mma.cuh"
#include "kernels/cuda/wgmma_tile.cuh"

namespace kbench::cuda::wgmma_matmul {

// A consumer's 64 rows x 128 bytes of C into a slab, swizzled as the map of C says: 64 columns of
// packed pairs (registers as wgmma leaves them, two columns each) ...
__device__ inline void FillSlab(std::uint32_t slab, const std::uint32_t* packed) {
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
  const unsigned row = lane % 8, right = lane / 16;
  const std::uint32_t line = slab + (16 * warp + lane / 8 % 2 * 8 + row) * 128;
#pragma unroll
  for (int block = 0; block < 4; ++block) {
    const std::uint32_t* d = packed + 4 * block;
    const std::uint32_t four[4] = {d[0], d[1], d[2], d[3]};
    StoreMatrices(line + ((2 * block + right) ^ row) * 16, four);
  }
}

// ... or 32 columns of fp32.
__device__ inline void FillSlab(std::uint32_t slab, const float* d) {
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
  const unsigned row = lane / 4, pair = lane % 4;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const std::uint32_t line = slab + (16 * warp + 8 * half + row) * 128 + pair % 2 * 8;
#pragma unroll
    for (int block = 0; block < 4; ++block) {
      const std::uint32_t to = line + ((2 * block + pair / 2) ^ row) * 16;
      asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(to), "f"(d[4 * block + 2 * half]),
                   "f"(d[4 * block + 2 * half + 1])
                   : "memory");
    }
  }
}

// A warp group that multiplies.
template <DType D, typename Tile, bool kMnA, bool kMnB>
class CooperativeConsumer {
 public:
  __device__ CooperativeConsumer(const Shared<Tile>& shared, const CUtensorMap* map_c,
                                 unsigned consumer)
      : shared_(shared),
        map_c_(map_c),
        slabs_(shared.slabs + consumer * Tile::kSlabs * Tile::kSlabBytes),
        consumer_(consumer) {
    const std::uint32_t a = SharedAddress(shared.stages) + consumer * kStrips * 64 * 128;
    const std::uint32_t b = SharedAddress(shared.stages) + Tile::kBytesA;
    first_a_ = DescribeOperand<kMnA>(a);
    first_b_ = DescribeOperand<kMnB>(b);
  }

  __device__ void Run(const TileWork& work) {
    Pieces<Tile> pieces(work);
    for (Piece piece; pieces.Next(piece);) {
      MultiplyPiece(piece.end - piece.begin);
      // Found here, the corner costs nothing: the last products are still under way.
      corner_ = FindCorner<Tile>(work.order, piece.tile);
      corner_.row += static_cast<int>(consumer_) * kStrips * 64;
      WgmmaWait<0>();
      Release(shared_, before_);
#pragma unroll
      for (int strip = 0; strip < kStrips; ++strip) KeepInRegisters(d_[strip]);
      if (Tile::kSplits && piece.begin > 0) {
        GivePart(work);
        continue;
      }
      if (Tile::kSplits && piece.end < work.steps) AddPart(work);
      FinishTile();
    }
    if (finished_) StoreTile();
    if (threadIdx.x % 128 == 0) TmaWait<0>();
  }

 private:
  static constexpr int kStrips = Tile::kRows / 64 / Tile::kConsumers;  // of 64 rows
  static constexpr bool kPacks = D != DType::kTf32;
  // Whether a finished tile waits in spare registers and is stored under the next one's products.
  // Two blocks on a multiprocessor hide each other's stores; fp32 results would not fit.
  static constexpr bool kOverlap = kPacks && Tile::kBlocks == 1;
  static constexpr int kWide = kPacks ? 64 : 32;  // columns of a slab
  static constexpr int kSlabsOfStrip = Tile::kColumns / kWide;
  static constexpr int kSlabsOfTile = kStrips * kSlabsOfStrip;
  // From one slab's store to the next: closer together they hold up the products (measured).
  static constexpr int kStepsOfSlab = 3;
  static constexpr int kFoursOfStrip = Tile::kColumns / 8;  // sums of a thread, by four
  static constexpr int kFours = kStrips * kFoursOfStrip;

  // The products of `steps` stages. The tile before is stored under the first of them.
  __device__ void MultiplyPiece(int steps) {
    int step = 0;
    if constexpr (kOverlap) {
#pragma unroll
      for (int i = 0; i < kSlabsOfTile; ++i) {
        if (step < steps) Multiply(i == 0);
        if (finished_) StoreSlab(i);
        if (step < steps) Retire(i == 0);
        ++step;
#pragma unroll 1
        for (int more = 1; more < kStepsOfSlab && step < steps; ++more, ++step) {
          Multiply(false);
          Retire(false);
        }
      }
      finished_ = false;
    }
    for (; step < steps; ++step) {
      Multiply(step == 0);
      Retire(step == 0);
    }
  }

  __device__ void FinishTile() {
    if constexpr (kOverlap) {
#pragma unroll
      for (int i = 0; i < kSlabsOfTile; ++i) PackSlab(i, packed_ + 16 * i);
      finished_ = true;
    } else {
      StoreTile();
    }
  }

  // Leaves the sums of a tile's end to the cluster that has its beginning.
  __device__ void GivePart(const TileWork& work) {
    const unsigned slot = blockIdx.x * Tile::kConsumers + consumer_;
    float4* to = work.parts + slot * (kFours * 128) + threadIdx.x % 128;
#pragma unroll
    for (int i = 0; i < kFours; ++i) {
      const float* d = d_[i / kFoursOfStrip] + i % kFoursOfStrip * 4;
      to[i * 128] = make_float4(d[0], d[1], d[2], d[3]);
    }
    __threadfence();
    NamedBarrierSync(1 + consumer_, 128);
    if (threadIdx.x % 128 == 0) StoreRelease(&work.given[slot], 1);
  }

  // Adds the sums of a tile's end to those of its beginning: always so, so that results repeat.
  __device__ void AddPart(const TileWork& work) {
    const unsigned slot = (blockIdx.x - Tile::kClusterBlocks) * Tile::kConsumers + consumer_;
    const float4* from = work.parts + slot * (kFours * 128) + threadIdx.x % 128;
    if (threadIdx.x % 128 == 0) {
      while (LoadAcquire(&work.given[slot]) == 0) {
      }
      work.given[slot] = 0;  // for the next launch
    }
    NamedBarrierSync(1 + consumer_, 128);
#pragma unroll
    for (int i = 0; i < kFours; ++i) {
      const float4 part = __ldcg(from + i * 128);
      float* d = d_[i / kFoursOfStrip] + i % kFoursOfStrip * 4;
      d[0] += part.x;
      d[1] += part.y;
      d[2] += part.z;
      d[3] += part.w;
    }
  }

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
        Wgmma<D, Tile::kColumns, kMnA, kMnB>(d_[strip], Advance(a, i * kNextA + strip * 8192),
                                             Advance(b, i * kNextB), !first || i > 0);
      }
    }
    WgmmaCommit();
  }

  __device__ void Retire(bool first) { RetireStage(shared_, place_, before_, first); }

  __device__ void PackSlab(int i, std::uint32_t* to) {
    const float* d = d_[i / kSlabsOfStrip] + i % kSlabsOfStrip * 32;
#pragma unroll
    for (int pair = 0; pair < 16; ++pair) to[pair] = Pack<D>(d[2 * pair], d[2 * pair + 1]);
  }

  __device__ void StoreTile() {
#pragma unroll
    for (int i = 0; i < kSlabsOfTile; ++i) StoreSlab(i);
  }

  // Hands 64 rows x 128 bytes to TMA. Returns while it still reads the slab.
  __device__ void StoreSlab(int i) {
    const bool issuer = threadIdx.x % 128 == 0;
    unsigned char* slab = slabs_ + slab_ * Tile::kSlabBytes;
    if (++slab_ == Tile::kSlabs) slab_ = 0;
    if (issuer) TmaWaitRead<Tile::kSlabs - 1>();
    NamedBarrierSync(1 + consumer_, 128);
    const std::uint32_t to = SharedAddress(slab);
    const int strip = i / kSlabsOfStrip, at = i % kSlabsOfStrip;
    if constexpr (kOverlap) {
      FillSlab(to, packed_ + 16 * i);
    } else if constexpr (kPacks) {
      std::uint32_t packed[16];
      PackSlab(i, packed);
      FillSlab(to, packed);
    } else {
      FillSlab(to, d_[strip] + 16 * at);
    }
    FenceAsyncProxy();
    NamedBarrierSync(1 + consumer_, 128);
    if (issuer) {
      TmaStore(map_c_, slab, corner_.column + at * kWide, corner_.row + strip * 64);
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
  bool finished_ = false;  // there is a tile to store
  Corner corner_{};        // of the tile to store
  float d_[kStrips][Tile::kColumns / 2];
  std::uint32_t packed_[kOverlap ? 16 * kSlabsOfTile : 1];
};

}  // namespace kbench::cuda::wgmma_matmul
