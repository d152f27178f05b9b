// cuda/flash-mma attention: FlashAttention-2 (Dao, 2023) on mma.sync for sm_80 and up. A block owns
// a tile of query rows of one head, a warp 16 or 32 of them; it walks over the keys in tiles that
// cp.async brings one step ahead, and keeps scores, running maximum, running sum and output in
// registers: the accumulator of Q K^T is, packed to halves, the operand A of P V. Key tiles beyond
// the diagonal are skipped, only tiles across a border are masked.

#include "kernels/cuda/attention_math.cuh"
#include "kernels/cuda/attention_shape.h"
#include "kernels/cuda/dtypes.h"
#include "kernels/cuda/element.cuh"
#include "kernels/cuda/flash_mma_tile.cuh"
#include "kernels/cuda/implementations.h"
#include "kernels/cuda/mbarrier.cuh"

namespace kbench {
namespace cuda {
namespace {

// kRowTiles: 16-row tiles of a warp.
template <DType kDTypeOf, int kHeadSize, int kWarpCount, int kRowTileCount>
struct Traits {
  static constexpr DType kDType = kDTypeOf;
  using Half = typename Element<kDType>::Storage;
  static constexpr int kHead = kHeadSize, kWarps = kWarpCount, kRowTiles = kRowTileCount;
  static constexpr int kKeys = 64;
  static constexpr int kThreads = 32 * kWarps;
  static constexpr int kWarpRows = 16 * kRowTiles;
  static constexpr int kRows = kWarps * kWarpRows;
  static constexpr int kSteps = kHead / 16;      // of 16 columns of Q
  static constexpr int kScoreTiles = kKeys / 8;  // accumulators of eight columns
  static constexpr int kOutputTiles = kHead / 8;
  // Q stays in registers where there is room for it; its shared memory is then the second K and V.
  static constexpr bool kKeepQ = kRowTiles * kHead <= 128;
  static constexpr int kRowBytes = kHead * 2;
  static constexpr int kTileBytes = kKeys * kRowBytes;
  static constexpr int kQBytes = kRows * kRowBytes;
  static constexpr int kAtK = kKeepQ ? 0 : kQBytes;
  static constexpr int kSharedBytes = kAtK + 3 * kTileBytes;  // K twice, V once
  static_assert(!kKeepQ || kQBytes <= 2 * kTileBytes);
  static constexpr int kBlocks = kWarps * kHead == 1024 ? 1 : kHead == 64 && kRowTiles == 1 ? 3 : 2;
};

struct Arguments {
  const unsigned char *q, *k;
  std::ptrdiff_t k_to_v;  // bytes
  unsigned char* o;
  std::int64_t h, hkv, row_tiles;
  int s;
  bool causal;
  float scale;
};

// The rows of one warp: its state across key tiles.
template <typename T>
struct WarpRows {
  float output[T::kRowTiles][T::kOutputTiles][4];
  float largest[T::kRowTiles][2];  // of raw scores
  float sum[T::kRowTiles][2];      // of this lane's columns only
  std::uint32_t q[T::kKeepQ ? T::kRowTiles : 1][T::kKeepQ ? T::kSteps : 1][4];
};

template <typename T>
using Scores = float[T::kRowTiles][T::kScoreTiles][4];

template <typename T>
__device__ __forceinline__ void MultiplyQK(const WarpRows<T>& rows, SwizzledTile<T::kHead> q_tile,
                                           SwizzledTile<T::kHead> k_tile, int warp_row,
                                           Scores<T>& scores) {
#pragma unroll
  for (int step = 0; step < T::kSteps; ++step) {
    std::uint32_t q[T::kRowTiles][4];
#pragma unroll
    for (int m = 0; m < T::kRowTiles; ++m) {
      if constexpr (T::kKeepQ) {
#pragma unroll
        for (int i = 0; i < 4; ++i) q[m][i] = rows.q[m][step][i];
      } else {
        q_tile.LoadA(warp_row + 16 * m, step, q[m]);
      }
    }
#pragma unroll
    for (int n = 0; n < T::kScoreTiles; n += 2) {
      std::uint32_t k[4];
      k_tile.LoadTransposedB(8 * n, step, k);
#pragma unroll
      for (int m = 0; m < T::kRowTiles; ++m) {
        MultiplyAdd<T::kDType>(scores[m][n], q[m], k[0], k[1]);
        MultiplyAdd<T::kDType>(scores[m][n + 1], q[m], k[2], k[3]);
      }
    }
  }
}

// -infinity where row `row` + ... must not see key `key` + ...
template <typename T>
__device__ __forceinline__ void Mask(Scores<T>& scores, int row, int key, const Arguments& x) {
  const int lane = threadIdx.x % 32;
  // Keys of this tile that exist, and that row `row` sees; at most T::kKeys matter.
  const int present = x.s - key, below = x.causal ? row + 1 - key : T::kKeys;
#pragma unroll
  for (int m = 0; m < T::kRowTiles; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int visible = min(present, below + 16 * m + 8 * half + lane / 4);
#pragma unroll
      for (int n = 0; n < T::kScoreTiles; ++n) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          if (8 * n + lane % 4 * 2 + i >= visible) scores[m][n][2 * half + i] = -INFINITY;
        }
      }
    }
  }
}

// Scores to probabilities relative to the grown maximum; what came before shrinks to it.
template <typename T>
__device__ __forceinline__ void Softmax(WarpRows<T>& rows, Scores<T>& scores, float scale) {
#pragma unroll
  for (int m = 0; m < T::kRowTiles; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float largest = rows.largest[m][half];
#pragma unroll
      for (int n = 0; n < T::kScoreTiles; ++n) {
        largest = fmaxf(largest, fmaxf(scores[m][n][2 * half], scores[m][n][2 * half + 1]));
      }
      largest = QuadMax(largest);
      const float shrink = Exp2((rows.largest[m][half] - largest) * scale);
      rows.largest[m][half] = largest;
      const float offset = largest * scale;
      float sum = rows.sum[m][half] * shrink;
#pragma unroll
      for (int n = 0; n < T::kScoreTiles; ++n) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          float& score = scores[m][n][2 * half + i];
          score = Exp2(score * scale - offset);
          sum += score;
        }
      }
      rows.sum[m][half] = sum;
#pragma unroll
      for (int n = 0; n < T::kOutputTiles; ++n) {
        rows.output[m][n][2 * half] *= shrink;
        rows.output[m][n][2 * half + 1] *= shrink;
      }
    }
  }
}

template <typename T>
__device__ __forceinline__ void MultiplyPV(WarpRows<T>& rows, const Scores<T>& p,
                                           SwizzledTile<T::kHead> v_tile) {
  using Half = typename T::Half;
#pragma unroll
  for (int step = 0; step < T::kKeys / 16; ++step) {
    std::uint32_t a[T::kRowTiles][4];
#pragma unroll
    for (int m = 0; m < T::kRowTiles; ++m) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float* pair = &p[m][2 * step + i / 2][i % 2 * 2];
        a[m][i] = PackHalves<Half>(pair[0], pair[1]);
      }
    }
#pragma unroll
    for (int n = 0; n < T::kOutputTiles; n += 2) {
      std::uint32_t v[4];
      v_tile.LoadB(16 * step, n / 2, v);
#pragma unroll
      for (int m = 0; m < T::kRowTiles; ++m) {
        MultiplyAdd<T::kDType>(rows.output[m][n], a[m], v[0], v[1]);
        MultiplyAdd<T::kDType>(rows.output[m][n + 1], a[m], v[2], v[3]);
      }
    }
  }
}

// Normalises the warp's rows and writes them, through its own rows of `tile`, in whole chunks.
template <typename T>
__device__ __forceinline__ void StoreOutput(WarpRows<T>& rows, SwizzledTile<T::kHead> tile,
                                            int warp_row, unsigned char* o, int present) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int m = 0; m < T::kRowTiles; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float inverse = 1 / QuadSum(rows.sum[m][half]);
#pragma unroll
      for (int n = 0; n < T::kOutputTiles; ++n) {
        const float* pair = &rows.output[m][n][2 * half];
        const std::uint32_t packed =
            PackHalves<typename T::Half>(pair[0] * inverse, pair[1] * inverse);
        const int row = warp_row + 16 * m + 8 * half + lane / 4;
        asm volatile("st.shared.b32 [%0], %1;" ::"r"(tile.At(row, n) + lane % 4 * 4), "r"(packed)
                     : "memory");
      }
    }
  }
  __syncwarp();
  constexpr int kChunks = T::kHead / 8;
#pragma unroll
  for (int i = lane; i < T::kWarpRows * kChunks; i += 32) {
    const int row = i / kChunks, chunk = i % kChunks;
    uint4 value;
    asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
                 : "r"(tile.At(warp_row + row, chunk))
                 : "memory");
    if (row < present) *reinterpret_cast<uint4*>(o + row * T::kHead * 2 + chunk * 16) = value;
  }
}

// Brings Q into registers or leaves it in shared memory, and starts the first K.
template <typename T>
__device__ __forceinline__ void LoadQ(WarpRows<T>& rows, SwizzledTile<T::kHead> q_tile,
                                      SwizzledTile<T::kHead> k_tile, int warp_row,
                                      const unsigned char* q, int q_present, const unsigned char* k,
                                      int k_present) {
  q_tile.template Load<T::kRows, T::kThreads>(q, q_present);
  if constexpr (T::kKeepQ) {
    CommitCopies();
    WaitForCopies<0>();
    __syncthreads();
#pragma unroll
    for (int m = 0; m < T::kRowTiles; ++m) {
#pragma unroll
      for (int step = 0; step < T::kSteps; ++step) {
        q_tile.LoadA(warp_row + 16 * m, step, rows.q[m][step]);
      }
    }
    __syncthreads();  // K and V are to lie there
  }
  k_tile.template Load<T::kKeys, T::kThreads>(k, k_present);
  CommitCopies();
}

template <typename T>
__device__ __forceinline__ void Clear(WarpRows<T>& rows) {
#pragma unroll
  for (int m = 0; m < T::kRowTiles; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      rows.largest[m][half] = -INFINITY;
      rows.sum[m][half] = 0;
#pragma unroll
      for (int n = 0; n < T::kOutputTiles; ++n) {
        rows.output[m][n][2 * half] = rows.output[m][n][2 * half + 1] = 0;
      }
    }
  }
}

template <typename T>
__global__ void __launch_bounds__(T::kThreads, T::kBlocks) FlashMmaKernel(Arguments x) {
  extern __shared__ __align__(128) unsigned char shared[];
  const auto base = SharedAddress(shared);
  const SwizzledTile<T::kHead> q_tile{base}, v_tile{base + T::kAtK + 2 * T::kTileBytes};
  // The longest tiles of a causal problem come first; neighbouring blocks share their keys.
  const std::int64_t heads = gridDim.x / x.row_tiles;
  const std::int64_t head = x.causal ? blockIdx.x % heads : blockIdx.x / x.row_tiles;
  const int row0 = T::kRows * static_cast<int>(x.causal ? x.row_tiles - 1 - blockIdx.x / heads
                                                        : blockIdx.x % x.row_tiles);
  const std::int64_t head_bytes = std::int64_t{x.s} * T::kRowBytes;
  const std::int64_t key_bytes = KeyHeadOf(head, x.h, x.hkv) * head_bytes;
  const unsigned char* k = x.k + key_bytes;
  const int warp_row = static_cast<int>(threadIdx.x / 32) * T::kWarpRows;
  const int keys = x.causal && row0 + T::kRows < x.s ? row0 + T::kRows : x.s;

  WarpRows<T> rows;
  Clear<T>(rows);
  LoadQ<T>(rows, q_tile, {base + T::kAtK}, warp_row,
           x.q + head * head_bytes + std::int64_t{row0} * T::kRowBytes, x.s - row0, k, x.s);
  for (int key = 0; key < keys; key += T::kKeys) {
    const unsigned stage = key / T::kKeys % 2;
    const SwizzledTile<T::kHead> k_tile{base + T::kAtK + stage * T::kTileBytes};
    const SwizzledTile<T::kHead> next_k{base + T::kAtK + (1 - stage) * T::kTileBytes};
    __syncthreads();  // everybody is done with V
    v_tile.template Load<T::kKeys, T::kThreads>(k + x.k_to_v, x.s - key);
    k += T::kTileBytes;
    CommitCopies();
    WaitForCopies<1>();
    __syncthreads();  // K is here
    Scores<T> scores = {};
    MultiplyQK<T>(rows, q_tile, k_tile, warp_row, scores);
    if (key + T::kKeys < keys) {
      next_k.template Load<T::kKeys, T::kThreads>(k, x.s - key - T::kKeys);
    }
    CommitCopies();
    const int first_row = row0 + warp_row;
    if (key + T::kKeys > x.s || (x.causal && key + T::kKeys > first_row + 1)) {
      Mask<T>(scores, first_row, key, x);
    }
    Softmax<T>(rows, scores, x.scale);
    WaitForCopies<1>();
    __syncthreads();  // V is here
    MultiplyPV<T>(rows, scores, v_tile);
  }
  WaitForCopies<0>();
  __syncthreads();
  const int first_row = row0 + warp_row;
  StoreOutput<T>(rows, q_tile, warp_row,
                 x.o + head * head_bytes + std::int64_t{first_row} * T::kRowBytes, x.s - first_row);
}

template <typename T>
CreateResult CreateTile(const AttentionShape& shape, const OperandPointers& operands) {
  const auto input = [&](int i) { return static_cast<const unsigned char*>(operands.inputs[i]); };
  const Arguments arguments{.q = input(0),
                            .k = input(1),
                            .k_to_v = input(2) - input(1),
                            .o = static_cast<unsigned char*>(operands.output),
                            .h = shape.h,
                            .hkv = shape.hkv,
                            .row_tiles = shape.Tiles(T::kRows) / shape.QueryHeads(),
                            .s = static_cast<int>(shape.s),
                            .causal = shape.causal,
                            .scale = shape.ScoreScale()};
  const Geometry geometry{GridOf(shape.Tiles(T::kRows)), dim3(T::kThreads),
                          static_cast<std::size_t>(T::kSharedBytes)};
  return CreateSingleKernel(FlashMmaKernel<T>, geometry, [=](cudaStream_t stream) {
    return LaunchKernel(geometry, stream, FlashMmaKernel<T>, arguments);
  });
}

// Candidates: rows x keys of a tile. More rows read K and V less often, fewer fit small problems.
// For a head of 64 a warp has registers for 32 rows, for one of 128 only for 16.
constexpr const char *k64x64 = "64x64", *k128x64 = "128x64";

// Small tiles first where large ones would leave multiprocessors idle.
std::vector<std::string> Candidates(const Problem& problem) {
  const AttentionShape shape = AttentionShape::Of(problem);
  const int resident = shape.d == 64 ? 2 : 1;
  const bool few = shape.Tiles(128) < resident * CurrentDevice().multiprocessors;
  if (few) return {k64x64, k128x64};
  return {k128x64, k64x64};
}

template <DType D>
CreateResult CreateAs(const Problem& problem, const OperandPointers& operands,
                      const std::string& candidate) {
  const AttentionShape shape = AttentionShape::Of(problem);
  const bool small = (candidate.empty() ? Candidates(problem)[0] : candidate) == k64x64;
  if (shape.d == 64) {
    return small ? CreateTile<Traits<D, 64, 4, 1>>(shape, operands)
                 : CreateTile<Traits<D, 64, 4, 2>>(shape, operands);
  }
  return small ? CreateTile<Traits<D, 128, 4, 1>>(shape, operands)
               : CreateTile<Traits<D, 128, 8, 1>>(shape, operands);
}

using Compiled = DTypes<DType::kFp16, DType::kBf16>;

CreateResult Create(const Problem& problem, const OperandPointers& operands,
                    const DeviceContext& context) {
  return Compiled::Create(problem.dtype, [&](auto dtype) {
    return CreateAs<decltype(dtype)::value>(problem, operands, context.candidate);
  });
}

std::optional<std::string> Unsupported(const Problem& problem) {
  return AttentionShape::Of(problem).NotOf64Or128(64);
}

}  // namespace
}  // namespace cuda

Implementation CudaFlashMmaAttention() {
  Implementation implementation;
  implementation.name = "cuda/flash-mma";
  implementation.family = "cuda";
  implementation.kernel = "attention";
  implementation.summary = "FlashAttention-2 on mma.sync: scores and output stay in registers";
  implementation.dtypes = cuda::Compiled::List();
  implementation.dtype_missing = [](DType) { return cuda::NeedsCapability(80); };
  implementation.default_choice = true;
  implementation.rung = 2;
  implementation.unsupported = cuda::Unsupported;
  implementation.candidates = cuda::Candidates;
  implementation.create = cuda::Create;
  return implementation;
}

}  // namespace kbench
