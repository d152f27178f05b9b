// The kernel of cuda/wgmma matmul: what wgmma_matmul.cu chooses between. Device code for sm_90a;
// other architectures compile it to nothing.
//
// A block stays for many tiles of C. A thread of the last warp group brings stages (128 bytes of
// depth of A and B) into a ring of shared memory with TMA; two warp groups multiply, each its half
// of the tile's rows. A finished tile of 16-bit results waits packed in registers and goes to
// memory through slabs of shared memory, by TMA, while the next tile's first stages are multiplied.
// Two blocks of a cluster work on tiles one above the other and share B: each loads half of it for
// both.
//
// The ideas are published: CUTLASS (warp specialisation, multicast), fast.cu (the tile's shape, TMA
// stores behind the products), DeepGEMM (arrivals by warp). README.md has what was tried.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "kernels/cuda/element.cuh"
#include "kernels/cuda/mma.cuh"
#include "kernels/cuda/tma.cuh"
#include "kernels/cuda/wgmma.cuh"

namespace kbench::cuda {

// kRows x kColumns of C a block; kClusterBlocks of them, one above the other, share B.
template <int kRows_, int kColumns_, int kStages_, int kSlabs_, int kClusterBlocks_>
struct WgmmaTile {
  using Shape = WgmmaTile;
  static constexpr int kRows = kRows_;
  static constexpr int kColumns = kColumns_;
  static constexpr int kStages = kStages_;
  static constexpr int kSlabs = kSlabs_;  // of each consumer
  static constexpr int kClusterBlocks = kClusterBlocks_;

  static constexpr int kConsumers = 2;  // warp groups
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
};

// Which tile comes when: `rows` x `columns` tiles (rows counted in clusters), walked in groups of
// `group` rows (or columns, where `turned`), so that what runs at once shares what L2 holds.
struct TileOrder {
  int rows, columns, group;
  bool turned;

  __device__ void Find(int tile, int& row, int& column) const {
    const int across = turned ? columns : rows, along = turned ? rows : columns;
    const int a_group = group * along;
    const int first = tile / a_group * group;
    const int size = min(group, across - first);
    const int within = tile % a_group;
    row = first + within % size;
    column = within / size;
    if (turned) {
      const int swapped = row;
      row = column;
      column = swapped;
    }
  }
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

constexpr int kPanelBytes = 64 * 128;  // 64 elements along m or n, 64 of depth

// One operand's part of a stage. K-major: one box. MN-major: panels of 64.
template <bool kMnMajor, bool kEverybody>
__device__ inline void LoadOperand(unsigned char* to, const CUtensorMap* map,
                                   std::uint64_t* barrier, int outer, int panels, int depth) {
  constexpr std::uint16_t kBoth = 3;
  if constexpr (kMnMajor) {
    for (int i = 0; i < panels; ++i) {
      if constexpr (kEverybody) {
        TmaLoadMulticast(to + i * kPanelBytes, map, barrier, kBoth, outer + 64 * i, depth);
      } else {
        TmaLoad(to + i * kPanelBytes, map, barrier, outer + 64 * i, depth);
      }
    }
  } else if constexpr (kEverybody) {
    TmaLoadMulticast(to, map, barrier, kBoth, depth, outer);
  } else {
    TmaLoad(to, map, barrier, depth, outer);
  }
}

// The thread that loads.
template <typename Tile, int kDepth, bool kMnA, bool kMnB>
__device__ inline void Produce(const Shared<Tile>& shared, const CUtensorMap* map_a,
                               const CUtensorMap* map_b, const TileOrder& order, int steps) {
  constexpr int kBlocks = Tile::kClusterBlocks;
  constexpr int kPart = Tile::kColumns / kBlocks;  // of B, that this block loads for all
  const int rank = kBlocks > 1 ? static_cast<int>(BlockOfCluster()) : 0;
  const int tiles = order.rows * order.columns;
  const int clusters = static_cast<int>(gridDim.x) / kBlocks;
  Place<Tile::kStages> place;
  for (int tile = static_cast<int>(blockIdx.x) / kBlocks; tile < tiles; tile += clusters) {
    int row, column;
    order.Find(tile, row, column);
    const int row0 = (row * kBlocks + rank) * Tile::kRows;
    const int column0 = column * Tile::kColumns + rank * kPart;
    for (int step = 0; step < steps; ++step, place.Next()) {
      std::uint64_t* full = &shared.full[place.stage];
      unsigned char* a = shared.stages + place.stage * Tile::kStageBytes;
      unsigned char* b = a + Tile::kBytesA + rank * kPart * 128;
      BarrierWait(&shared.empty[place.stage], place.phase ^ 1);
      BarrierArriveExpect(full, Tile::kStageBytes);
      LoadOperand<kMnA, false>(a, map_a, full, row0, Tile::kRows / 64, step * kDepth);
      LoadOperand<kMnB, (kBlocks > 1)>(b, map_b, full, column0, kPart / 64, step * kDepth);
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
class Consumer {
 public:
  __device__ Consumer(const Shared<Tile>& shared, const CUtensorMap* map_c, unsigned consumer)
      : shared_(shared),
        map_c_(map_c),
        slabs_(shared.slabs + consumer * Tile::kSlabs * Tile::kSlabBytes),
        consumer_(consumer) {
    const std::uint32_t a = SharedAddress(shared.stages) + consumer * kStrips * 64 * 128;
    const std::uint32_t b = SharedAddress(shared.stages) + Tile::kBytesA;
    first_a_ = kMnA ? DescribeMnMajor(a, kPanelBytes) : DescribeKMajor(a);
    first_b_ = kMnB ? DescribeMnMajor(b, kPanelBytes) : DescribeKMajor(b);
  }

  __device__ void Run(const TileOrder& order, int steps) {
    const int rank = kBlocks > 1 ? static_cast<int>(BlockOfCluster()) : 0;
    const int tiles = order.rows * order.columns;
    const int clusters = static_cast<int>(gridDim.x) / kBlocks;
    bool finished = false;  // there is a tile to store
    for (int tile = static_cast<int>(blockIdx.x) / kBlocks; tile < tiles; tile += clusters) {
      int step = 0;
      if constexpr (kOverlap) {
#pragma unroll
        for (int i = 0; i < kSlabsOfTile; ++i) {
          if (i < steps) Multiply(i == 0);
          if (finished) StoreSlab(i);
          if (i < steps) Retire(i == 0);
        }
        step = min(kSlabsOfTile, steps);
      }
      for (; step < steps; ++step) {
        Multiply(step == 0);
        Retire(step == 0);
      }
      WgmmaWait<0>();
      Release(shared_, before_);
      int row, column;
      order.Find(tile, row, column);
      row0_ = (row * kBlocks + rank) * Tile::kRows + static_cast<int>(consumer_) * kStrips * 64;
      column0_ = column * Tile::kColumns;
#pragma unroll
      for (int strip = 0; strip < kStrips; ++strip) KeepInRegisters(d_[strip]);
      if constexpr (kOverlap) {
#pragma unroll
        for (int i = 0; i < kSlabsOfTile; ++i) PackSlab(i, packed_ + 16 * i);
        finished = true;
      } else {
        StoreTile();
      }
    }
    if (finished) StoreTile();
    if (threadIdx.x % 128 == 0) TmaWait<0>();
  }

 private:
  static constexpr int kBlocks = Tile::kClusterBlocks;
  static constexpr int kStrips = Tile::kRows / 64 / Tile::kConsumers;  // of 64 rows
  static constexpr bool kPacks = D != DType::kTf32;
  // Whether a finished tile waits in spare registers and is stored under the next one's products.
  // Two blocks on a multiprocessor hide each other's stores; fp32 results would not fit.
  static constexpr bool kOverlap = kPacks && Tile::kBlocks == 1;
  static constexpr int kWide = kPacks ? 64 : 32;  // columns of a slab
  static constexpr int kSlabsOfStrip = Tile::kColumns / kWide;
  static constexpr int kSlabsOfTile = kStrips * kSlabsOfStrip;

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

  // Waits for the products of the stage before and gives it back.
  __device__ void Retire(bool first) {
    WgmmaWait<1>();
    if (!first) Release(shared_, before_);
    before_ = place_.stage;
    place_.Next();
  }

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
      TmaStore(map_c_, slab, column0_ + at * kWide, row0_ + strip * 64);
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
  int row0_ = 0, column0_ = 0;  // of the tile to store
  float d_[kStrips][Tile::kColumns / 2];
  std::uint32_t packed_[kOverlap ? 16 * kSlabsOfTile : 1];
};

}  // namespace wgmma_matmul

// Steps of 128 bytes of depth; the grid holds whole clusters.
template <DType D, typename Tile, bool kMnA, bool kMnB>
__global__ void __launch_bounds__(Tile::kThreads, Tile::kBlocks)
    WgmmaMatmulKernel(const __grid_constant__ CUtensorMap map_a,
                      const __grid_constant__ CUtensorMap map_b,
                      const __grid_constant__ CUtensorMap map_c, TileOrder order, int steps) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  using namespace wgmma_matmul;
  extern __shared__ __align__(1024) unsigned char memory[];
  constexpr int kDepth = 128 / static_cast<int>(sizeof(typename Element<D>::Storage));
  const Shared<Tile> shared(memory);
  if (threadIdx.x == 0) {
    PrefetchTensorMap(&map_a);
    PrefetchTensorMap(&map_b);
    PrefetchTensorMap(&map_c);
    for (int i = 0; i < Tile::kStages; ++i) {
      BarrierInit(&shared.full[i], 1);
      BarrierInit(&shared.empty[i], 4 * Tile::kConsumers * Tile::kClusterBlocks);
    }
    FenceBarrierInit();
  }
  if constexpr (Tile::kClusterBlocks > 1) {
    ClusterSync();
  } else {
    __syncthreads();
  }
  const unsigned group = threadIdx.x / 128;
  if (group == Tile::kConsumers) {
    if constexpr (Tile::kBlocks == 1) GiveRegisters<40>();
    if (threadIdx.x / 32 == 4 * Tile::kConsumers && ElectOne()) {
      Produce<Tile, kDepth, kMnA, kMnB>(shared, &map_a, &map_b, order, steps);
    }
    __syncwarp();
  } else {
    if constexpr (Tile::kBlocks == 1) TakeRegisters<232>();
    Consumer<D, Tile, kMnA, kMnB>(shared, &map_c, group).Run(order, steps);
  }
  // No block may leave while the other still counts on its barriers.
  if constexpr (Tile::kClusterBlocks > 1) ClusterSync();
#endif
}

}  // namespace kbench::cuda
