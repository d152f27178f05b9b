// The kernel of cuda/mma matmul: what mma_matmul_*.cu choose between. Compute capability 8.0 and
// up. Device code.
//
// A block makes one tile of C. Stages of A and B arrive by cp.async in a ring of shared memory
// while earlier ones are multiplied; a warp keeps its part of C in registers and reads the
// fragments of the next step while the tensor cores work on this one. Pieces of 16 bytes are
// XOR-swizzled so that neither the copies nor ldmatrix meet bank conflicts. The shape of the
// pipeline is CUTLASS's for sm_80; the swizzles and the order of tiles are common knowledge
// (reference: learn-cuda, Triton).
#pragma once

#include "kernels/cuda/mbarrier.cuh"
#include "kernels/cuda/mma.cuh"
#include "kernels/cuda/mma_copies.cuh"

namespace kbench::cuda {

// kRows x kColumns of C a block, kDepthBytes (64 or 128) of depth a stage, kWarpRows x kWarpColumns
// of C a warp.
template <int kRows_, int kColumns_, int kDepthBytes_, int kStages_, int kWarpRows_,
          int kWarpColumns_>
struct MmaTile {
  using Shape = MmaTile;
  static constexpr int kRows = kRows_;
  static constexpr int kColumns = kColumns_;
  static constexpr int kDepthBytes = kDepthBytes_;
  static constexpr int kStages = kStages_;
  static constexpr int kWarpRows = kWarpRows_;
  static constexpr int kWarpColumns = kWarpColumns_;
  static constexpr int kWarpsAcross = kColumns / kWarpColumns;
  static constexpr int kThreads = 32 * kWarpsAcross * (kRows / kWarpRows);
  static constexpr int kBytesA = kRows * kDepthBytes;
  static constexpr int kStageBytes = (kRows + kColumns) * kDepthBytes;
  static constexpr int kSharedBytes = kStages * kStageBytes;
  static constexpr int kBlocks = kThreads <= 128 ? 2 : 1;  // at least, a multiprocessor
};

struct MmaProblem {
  std::int64_t m, n, k;
  int tile_rows, tile_columns, group;

  // Groups of `group` rows of tiles: what runs at once shares what L2 holds.
  __device__ void Find(int tile, int& row, int& column) const {
    const int a_group = group * tile_columns;
    const int first = tile / a_group * group;
    const int size = min(group, tile_rows - first);
    row = first + tile % a_group % size;
    column = tile % a_group / size;
  }
};

namespace mma_matmul {

// Where a lane begins to read the fragments of a warp whose first row (or column) is `outer`. Of A
// the second eight rows come before the second half of the depth, of B after it. All further
// places differ by XOR of the bits of a line and by whole lines.
template <typename Op>
__device__ inline std::uint32_t FirstFragment(int outer, bool outer_first) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int second = outer_first ? lane / 8 % 2 : lane / 16;  // of two blocks of outer
  const int deeper = outer_first ? lane / 16 : lane / 8 % 2;
  if constexpr (!Op::kMnMajor) {
    return Op::Offset(outer + 8 * second + lane % 8, deeper);
  } else if constexpr (Op::kBytes == 2) {
    return Op::Offset(8 * deeper + lane % 8, outer / 8 + second);
  } else {
    return Op::Offset(lane % 4, outer / 4 + lane / 16) + lane / 4 % 4 * 4;
  }
}

// The fragments of one step (32 bytes of depth): kCount times 16 rows of A or columns of B. `first`
// is FirstFragment() in the stage's memory.
template <typename Op, bool kOuterFirst, int kCount>
__device__ inline void LoadFragments(std::uint32_t (&to)[kCount][4], std::uint32_t first,
                                     int step) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    if constexpr (!Op::kMnMajor) {
      LoadMatrices(to[i], (first ^ (32 * step)) + 16 * i * Op::kLineBytes);
    } else if constexpr (Op::kBytes == 2) {
      LoadMatricesTransposed(to[i], (first ^ (32 * i)) + 16 * step * Op::kLineBytes);
    } else {
#pragma unroll
      for (int j = 0; j < 4; ++j) {  // ldmatrix cannot transpose words
        const int second = kOuterFirst ? j % 2 : j / 2, deeper = kOuterFirst ? j / 2 : j % 2;
        // Bits 5 and 6 are swizzled, what lies above is plainly added.
        const std::uint32_t place = (first ^ (i % 2 * 64 + second * 32)) + i / 2 * 128;
        asm volatile("ld.shared.b32 %0, [%1];"
                     : "=r"(to[i][j])
                     : "r"(place + (8 * step + 4 * deeper) * Op::kLineBytes)
                     : "memory");
      }
    }
  }
}

// Among the four lanes that share a row: lane t gets the t-th word of each, in their order.
__device__ inline void TransposeQuad(std::uint32_t (&w)[4]) {
  const bool odd = threadIdx.x & 1, upper = threadIdx.x & 2;
#pragma unroll
  for (int i = 0; i < 4; i += 2) {
    const std::uint32_t got = __shfl_xor_sync(0xffffffff, odd ? w[i] : w[i + 1], 1);
    (odd ? w[i] : w[i + 1]) = got;
  }
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const std::uint32_t got = __shfl_xor_sync(0xffffffff, upper ? w[i] : w[i + 2], 2);
    (upper ? w[i] : w[i + 2]) = got;
  }
}

// A warp's part of C, from (row0, column0), to memory, but for what lies above `first_row` or left
// of `first_column`: that is another block's. Rows of whole 16 bytes are written in whole sectors:
// fp32 pairs of four lanes make one as they are, 16-bit results change lanes first.
template <DType D, int kM, int kN>
__device__ inline void StoreTile(const float (&d)[kM][kN][4], typename Element<D>::Storage* c,
                                 const MmaProblem& x, std::int64_t row0, std::int64_t column0,
                                 std::int64_t first_row, std::int64_t first_column) {
  using Storage = typename Element<D>::Storage;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int left = static_cast<int>(max(first_column - column0, std::int64_t{0}));
  const int right = static_cast<int>(min(x.n - column0, std::int64_t{8 * kN}));
  const auto mine = [&](int column) { return column >= left && column < right; };
  const bool whole = x.n * sizeof(Storage) % 16 == 0;
#pragma unroll
  for (int i = 0; i < 2 * kM; ++i) {
    const std::int64_t row = row0 + 8 * i + lane / 4;
    const bool row_mine = row >= first_row && row < x.m;
    const auto pair = [&](int j) { return &d[i / 2][j][i % 2 * 2]; };
    Storage* to = c + row * x.n + column0;
    if constexpr (sizeof(Storage) == 4) {
#pragma unroll
      for (int j = 0; j < kN; ++j) {
        const int column = 8 * j + lane % 4 * 2;
        if (!row_mine) continue;
        if (whole && mine(column)) {
          *reinterpret_cast<float2*>(to + column) = make_float2(pair(j)[0], pair(j)[1]);
        } else {
          if (mine(column)) to[column] = pair(j)[0];
          if (mine(column + 1)) to[column + 1] = pair(j)[1];
        }
      }
    } else if (!whole) {
#pragma unroll
      for (int j = 0; j < kN; ++j) {
        const int column = 8 * j + lane % 4 * 2;
        if (row_mine && mine(column)) to[column] = Element<D>::Store(pair(j)[0]);
        if (row_mine && mine(column + 1)) to[column + 1] = Element<D>::Store(pair(j)[1]);
      }
    } else {
#pragma unroll
      for (int j = 0; j < kN; j += 4) {
        std::uint32_t words[4];
#pragma unroll
        for (int l = 0; l < 4; ++l) {
          const Storage both[2] = {Element<D>::Store(pair(j + l)[0]),
                                   Element<D>::Store(pair(j + l)[1])};
          words[l] = *reinterpret_cast<const std::uint32_t*>(both);
        }
        TransposeQuad(words);
        const int column = 8 * (j + lane % 4);
        if (row_mine && mine(column)) {
          *reinterpret_cast<uint4*>(to + column) =
              make_uint4(words[0], words[1], words[2], words[3]);
        }
      }
    }
  }
}

}  // namespace mma_matmul

// Where tiles are copied whole, the last ones are moved back to the border, so that no line needs a
// guard; what two blocks then have, one stores.
template <DType D, typename Tile, bool kMnA, bool kMnB, MmaCopies kCopies>
__global__ void __launch_bounds__(Tile::kThreads, Tile::kBlocks)
    MmaMatmulKernel(const typename Element<D>::Storage* a, const typename Element<D>::Storage* b,
                    typename Element<D>::Storage* c, MmaProblem x) {
#if __CUDA_ARCH__ >= 800
  using namespace mma_matmul;
  using OpA = Operand<D, kMnA, Tile::kRows, Tile::kDepthBytes>;
  using OpB = Operand<D, kMnB, Tile::kColumns, Tile::kDepthBytes>;
  using CopiesA = Copies<OpA, Tile::kThreads, kCopies>;
  using CopiesB = Copies<OpB, Tile::kThreads, kCopies>;
  constexpr int kSteps = Tile::kDepthBytes / 32, kLoadSteps = kSteps - 1;
  constexpr int kM = Tile::kWarpRows / 16, kN = Tile::kWarpColumns / 8;
  extern __shared__ __align__(1024) unsigned char memory[];
  const std::uint32_t ring = SharedAddress(memory);
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int warp_row = warp / Tile::kWarpsAcross * Tile::kWarpRows;
  const int warp_column = warp % Tile::kWarpsAcross * Tile::kWarpColumns;
  const int stages = static_cast<int>((x.k + OpA::kDepth - 1) / OpA::kDepth);

  int tile_row, tile_column;
  x.Find(static_cast<int>(blockIdx.x), tile_row, tile_column);
  const std::int64_t first_row = std::int64_t{tile_row} * Tile::kRows;
  const std::int64_t first_column = std::int64_t{tile_column} * Tile::kColumns;
  constexpr bool kWhole = kCopies == MmaCopies::kWhole;
  const std::int64_t row0 = kWhole ? min(first_row, x.m - Tile::kRows) : first_row;
  const std::int64_t column0 = kWhole ? min(first_column, x.n - Tile::kColumns) : first_column;
  CopiesA copies_a(a, x.m, x.k, row0);
  CopiesB copies_b(b, x.n, x.k, column0);
  // The `share`th of `shares` of a stage, after the first.
  const auto load = [&](std::uint32_t to, bool exists, int share, int shares) {
    constexpr int kCount = CopiesA::kCount + CopiesB::kCount;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      if (i * shares / kCount != share) continue;
      if (i < CopiesA::kCount) {
        copies_a.Copy(to, i, exists);
      } else {
        copies_b.Copy(to + Tile::kBytesA, i - CopiesA::kCount, exists);
      }
    }
    if (share < shares - 1) return;
    copies_a.NextStage();
    copies_b.NextStage();
    CommitCopies();  // without copies at the end, so that the count of groups stays
  };
  copies_a.Begin(ring);
  copies_b.Begin(ring + Tile::kBytesA);
  CommitCopies();
#pragma unroll 1
  for (int i = 1; i < Tile::kStages - 1; ++i) load(ring + i * Tile::kStageBytes, i < stages, 0, 1);

  float d[kM][kN][4] = {};
  std::uint32_t fragments_a[2][kM][4], fragments_b[2][kN / 2][4];
  const std::uint32_t first_a = FirstFragment<OpA>(warp_row, true);
  const std::uint32_t first_b = FirstFragment<OpB>(warp_column, false) + Tile::kBytesA;
  const auto advance = [&](std::uint32_t& place) {
    place += Tile::kStageBytes;
    if (place == ring + Tile::kStages * Tile::kStageBytes) place = ring;
  };
  WaitForCopies<Tile::kStages - 2>();
  __syncthreads();
  LoadFragments<OpA, true>(fragments_a[0], ring + first_a, 0);
  LoadFragments<OpB, false>(fragments_b[0], ring + first_b, 0);
  std::uint32_t here = ring, refill = ring + (Tile::kStages - 1) * Tile::kStageBytes;
#pragma unroll 1
  for (int stage = 0; stage < stages; ++stage) {
    const bool exists = stage + Tile::kStages - 1 < stages;
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      if (step == kSteps - 1) {  // the next stage is wanted, and nobody reads this one any more
        WaitForCopies<Tile::kStages - 2>();
        __syncthreads();
        advance(here);
      }
      LoadFragments<OpA, true>(fragments_a[(step + 1) % 2], here + first_a, (step + 1) % kSteps);
      LoadFragments<OpB, false>(fragments_b[(step + 1) % 2], here + first_b, (step + 1) % kSteps);
      if (step < kLoadSteps) {  // in shares, so that the tensor cores never wait for copies
        load(refill, exists, step, kLoadSteps);
        if (step == kLoadSteps - 1) advance(refill);
      }
      // Down one column of fragments and up the next: neighbours share a fragment.
#pragma unroll
      for (int j = 0; j < kN; ++j) {
#pragma unroll
        for (int l = 0; l < kM; ++l) {
          const int i = j % 2 == 0 ? l : kM - 1 - l;
          const std::uint32_t* pair = fragments_b[step % 2][j / 2] + j % 2 * 2;
          MultiplyAdd<D>(d[i][j], fragments_a[step % 2][i], pair[0], pair[1]);
        }
      }
    }
  }
  WaitForCopies<0>();
  StoreTile<D>(d, c, x, row0 + warp_row, column0 + warp_column, first_row, first_column);
#endif
}

}  // namespace kbench::cuda
