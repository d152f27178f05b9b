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

#include "kernels/cuda/element.cuh"
#include "kernels/cuda/mbarrier.cuh"
#include "kernels/cuda/mma.cuh"

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

  __device__ int tiles() const { return tile_rows * tile_columns; }
  // Groups of `group` rows of tiles: what runs at once shares what L2 holds.
  __device__ void Find(int tile, int& row, int& column) const {
    const int a_group = group * tile_columns;
    const int first = tile / a_group * group;
    const int size = min(group, tile_rows - first);
    row = first + tile % a_group % size;
    column = tile % a_group / size;
  }
};

// Whether a block goes on to a next tile, whose first stages it loads while it stores this one.
// Words of tf32 leave no registers for that: a block makes one tile, and the grid has one for each.
template <DType D>
constexpr bool kMmaManyTiles = D != DType::kTf32;

namespace mma_matmul {

// How one operand's part of a stage lies in shared memory. K-major: a line is the depth of one row
// (or column) of C. MN-major: a line is kOuter rows (or columns) of C at one depth.
template <DType D, bool kMnMajor_, int kOuter, int kDepthBytes>
struct Operand {
  using Storage = typename Element<D>::Storage;
  static constexpr bool kMnMajor = kMnMajor_;
  static constexpr int kBytes = sizeof(Storage);
  static constexpr int kDepth = kDepthBytes / kBytes;
  static constexpr int kLines = kMnMajor ? kDepth : kOuter;
  static constexpr int kPieces = (kMnMajor ? kOuter * kBytes : kDepthBytes) / 16;  // of a line
  static constexpr int kLineBytes = kPieces * 16;
  static constexpr int kPeriod = kMnMajor && kBytes == 4 ? 4 : 8;  // lines

  // Where piece `piece` of line `line` lies: repeats itself every kPeriod lines. What ldmatrix
  // reads together (eight lines; of MN-major tf32 four lines of eight words) is in different banks.
  __device__ static std::uint32_t Offset(int line, int piece) {
    int swizzled = piece;
    if constexpr (kMnMajor && kBytes == 4) {
      swizzled ^= (line & 3) << 1;
    } else if constexpr (kPieces == 4) {
      swizzled ^= (line >> 1) & 3;
    } else {
      swizzled ^= line & 7;
    }
    return static_cast<std::uint32_t>(line * kLineBytes + swizzled * 16);
  }
};

// Copies 16 bytes of which only the first `present` elements exist, where rows are not aligned.
template <typename Storage>
__device__ inline void CopyNarrow(std::uint32_t to, const Storage* from, int present, bool pairs) {
  constexpr int kBytes = sizeof(Storage);
  if (kBytes == 4 || pairs) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int bytes = min(max(present * kBytes - 4 * i, 0), 4);
      CopyAsync<4>(to + 4 * i, from + (bytes > 0 ? 4 / kBytes * i : 0), bytes);
    }
    return;
  }
  if constexpr (kBytes == 2) {
    const auto* bits = reinterpret_cast<const unsigned short*>(from);
    std::uint32_t words[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const std::uint32_t low = 2 * i < present ? bits[2 * i] : 0;
      const std::uint32_t high = 2 * i + 1 < present ? bits[2 * i + 1] : 0;
      words[i] = low | high << 16;
    }
    asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(words[0]), "r"(words[1]),
                 "r"(words[2]), "r"(words[3])
                 : "memory");
  }
}

// Copies one operand, stage after stage; zeros where the matrix ends. `outer` and `depth` are its
// extents.
template <typename Op, int kThreads, bool kAligned>
class Loader {
 public:
  using Storage = typename Op::Storage;

  __device__ Loader(const Storage* matrix, std::int64_t outer, std::int64_t depth,
                    std::int64_t outer0)
      : width_(Op::kMnMajor ? outer : depth) {
    const int piece = static_cast<int>(threadIdx.x) % Op::kPieces;
    const int line = static_cast<int>(threadIdx.x) / Op::kPieces;
    const int right = piece * (16 / Op::kBytes);
    constexpr std::int64_t kMany = 1 << 30;
    const std::int64_t outer_left = outer - outer0;
    lines_left_ = static_cast<int>(min(Op::kMnMajor ? depth : outer_left, kMany)) - line;
    across_left_ = static_cast<int>(min(Op::kMnMajor ? outer_left : depth, kMany)) - right;
    from_ = matrix + (Op::kMnMajor ? line * width_ + outer0 : (outer0 + line) * width_) + right;
    to_ = Op::Offset(line, piece);
  }

  // The `part`th of `parts` shares of a stage. Behind the last stage there is nothing but zeros.
  __device__ void Load(std::uint32_t to, int part, int parts) const {
    constexpr int kAtOnce = kThreads / Op::kPieces;  // lines
    static_assert(kThreads % Op::kPieces == 0 && Op::kLines % kAtOnce == 0);
    static_assert(kAtOnce % Op::kPeriod == 0);
    const int present = min(max(across_left_, 0), 16 / Op::kBytes);
#pragma unroll
    for (int i = 0; i < Op::kLines / kAtOnce; ++i) {
      if (i % parts != part) continue;
      const int there = i * kAtOnce < lines_left_ ? present : 0;
      const Storage* from = from_ + i * (kAtOnce * width_);
      const std::uint32_t place = to + to_ + i * kAtOnce * Op::kLineBytes;
      if constexpr (kAligned) {
        CopyAsync<16>(place, from, there * Op::kBytes);
      } else {
        CopyNarrow(place, from, there, width_ % 2 == 0);
      }
    }
  }

  __device__ void NextStage() {
    if constexpr (Op::kMnMajor) {
      from_ += Op::kDepth * width_;
      lines_left_ -= Op::kDepth;
    } else {
      from_ += Op::kDepth;
      across_left_ -= Op::kDepth;
    }
  }

 private:
  std::int64_t width_;
  const Storage* from_;
  int lines_left_, across_left_;
  std::uint32_t to_;
};

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

// A warp's part of C to memory. Rows of whole 16 bytes are written in whole sectors: fp32 pairs of
// four lanes make one as they are, 16-bit results change lanes first.
template <DType D, int kM, int kN>
__device__ inline void StoreTile(const float (&d)[kM][kN][4], typename Element<D>::Storage* c,
                                 const MmaProblem& x, std::int64_t row0, std::int64_t column0) {
  using Storage = typename Element<D>::Storage;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int right = static_cast<int>(min(x.n - column0, std::int64_t{8 * kN}));  // columns left
  const bool whole = x.n * sizeof(Storage) % 16 == 0;
#pragma unroll
  for (int i = 0; i < 2 * kM; ++i) {
    const std::int64_t row = row0 + 8 * i + lane / 4;
    const auto pair = [&](int j) { return &d[i / 2][j][i % 2 * 2]; };
    Storage* to = c + row * x.n + column0;
    if constexpr (sizeof(Storage) == 4) {
#pragma unroll
      for (int j = 0; j < kN; ++j) {
        const int column = 8 * j + lane % 4 * 2;
        if (row >= x.m) continue;
        if (whole && column < right) {
          *reinterpret_cast<float2*>(to + column) = make_float2(pair(j)[0], pair(j)[1]);
        } else {
          if (column < right) to[column] = pair(j)[0];
          if (column + 1 < right) to[column + 1] = pair(j)[1];
        }
      }
    } else if (!whole) {
#pragma unroll
      for (int j = 0; j < kN; ++j) {
        const int column = 8 * j + lane % 4 * 2;
        if (row < x.m && column < right) to[column] = Element<D>::Store(pair(j)[0]);
        if (row < x.m && column + 1 < right) to[column + 1] = Element<D>::Store(pair(j)[1]);
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
        if (row < x.m && column < right) {
          *reinterpret_cast<uint4*>(to + column) =
              make_uint4(words[0], words[1], words[2], words[3]);
        }
      }
    }
  }
}

}  // namespace mma_matmul

// kAligned: rows of A and B are multiples of 16 bytes.
template <DType D, typename Tile, bool kMnA, bool kMnB, bool kAligned>
__global__ void __launch_bounds__(Tile::kThreads, Tile::kBlocks)
    MmaMatmulKernel(const typename Element<D>::Storage* a, const typename Element<D>::Storage* b,
                    typename Element<D>::Storage* c, MmaProblem x) {
#if __CUDA_ARCH__ >= 800
  using namespace mma_matmul;
  using OpA = Operand<D, kMnA, Tile::kRows, Tile::kDepthBytes>;
  using OpB = Operand<D, kMnB, Tile::kColumns, Tile::kDepthBytes>;
  using LoaderA = Loader<OpA, Tile::kThreads, kAligned>;
  using LoaderB = Loader<OpB, Tile::kThreads, kAligned>;
  constexpr int kSteps = Tile::kDepthBytes / 32, kLoadSteps = kSteps - 1;
  constexpr int kM = Tile::kWarpRows / 16, kN = Tile::kWarpColumns / 8;
  extern __shared__ __align__(1024) unsigned char memory[];
  const std::uint32_t ring = SharedAddress(memory);
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int warp_row = warp / Tile::kWarpsAcross * Tile::kWarpRows;
  const int warp_column = warp % Tile::kWarpsAcross * Tile::kWarpColumns;
  const int tiles = x.tiles();
  const int stages = static_cast<int>((x.k + OpA::kDepth - 1) / OpA::kDepth);

  int tile = static_cast<int>(blockIdx.x), row, column;
  x.Find(tile, row, column);
  LoaderA loader_a(a, x.m, x.k, std::int64_t{row} * Tile::kRows);
  LoaderB loader_b(b, x.n, x.k, std::int64_t{column} * Tile::kColumns);
  const auto load = [&](std::uint32_t to, int part, int parts) {
    loader_a.Load(to, part, parts);
    loader_b.Load(to + Tile::kBytesA, part, parts);
    if (part == parts - 1) {
      loader_a.NextStage();
      loader_b.NextStage();
      CommitCopies();
    }
  };
  const auto begin = [&] {
#pragma unroll 1
    for (int i = 0; i < Tile::kStages - 1; ++i) load(ring + i * Tile::kStageBytes, 0, 1);
  };
  begin();

  float d[kM][kN][4];
  std::uint32_t fragments_a[2][kM][4], fragments_b[2][kN / 2][4];
  const std::uint32_t first_a = FirstFragment<OpA>(warp_row, true);
  const std::uint32_t first_b = FirstFragment<OpB>(warp_column, false) + Tile::kBytesA;
  const auto advance = [&](std::uint32_t& place) {
    place += Tile::kStageBytes;
    if (place == ring + Tile::kStages * Tile::kStageBytes) place = ring;
  };
  while (true) {
    WaitForCopies<Tile::kStages - 2>();
    __syncthreads();
    LoadFragments<OpA, true>(fragments_a[0], ring + first_a, 0);
    LoadFragments<OpB, false>(fragments_b[0], ring + first_b, 0);
    std::uint32_t here = ring, refill = ring + (Tile::kStages - 1) * Tile::kStageBytes;
#pragma unroll
    for (int i = 0; i < kM * kN * 4; ++i) d[i / (kN * 4)][i / 4 % kN][i % 4] = 0;
#pragma unroll 1
    for (int stage = 0; stage < stages; ++stage) {
#pragma unroll
      for (int step = 0; step < kSteps; ++step) {
        if (step == kSteps - 1) {  // the next stage is wanted, and nobody reads this one any more
          WaitForCopies<Tile::kStages - 2>();
          __syncthreads();
          advance(here);
        }
        LoadFragments<OpA, true>(fragments_a[(step + 1) % 2], here + first_a, (step + 1) % kSteps);
        LoadFragments<OpB, false>(fragments_b[(step + 1) % 2], here + first_b, (step + 1) % kSteps);
        if (step < kLoadSteps) {  // in shares, so that the tensor cores never wait for addresses
          load(refill, step, kLoadSteps);
          if (step == kLoadSteps - 1) advance(refill);
        }
#pragma unroll
        for (int i = 0; i < kM; ++i) {
#pragma unroll
          for (int j = 0; j < kN; ++j) {
            const std::uint32_t* pair = fragments_b[step % 2][j / 2] + j % 2 * 2;
            MultiplyAdd<D>(d[i][j], fragments_a[step % 2][i], pair[0], pair[1]);
          }
        }
      }
    }
    const std::int64_t row0 = std::int64_t{row} * Tile::kRows + warp_row;
    const std::int64_t column0 = std::int64_t{column} * Tile::kColumns + warp_column;
    tile += static_cast<int>(gridDim.x);
    const bool more = kMmaManyTiles<D> && tile < tiles;
    if (more) {
      WaitForCopies<0>();
      __syncthreads();  // nobody reads the ring any more, or fills it with zeros
      x.Find(tile, row, column);
      loader_a = LoaderA(a, x.m, x.k, std::int64_t{row} * Tile::kRows);
      loader_b = LoaderB(b, x.n, x.k, std::int64_t{column} * Tile::kColumns);
      begin();
    }
    StoreTile<D>(d, c, x, row0, column0);
    if (!more) break;
  }
  WaitForCopies<0>();
#endif
}

}  // namespace kbench::cuda
