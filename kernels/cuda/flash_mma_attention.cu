// cuda/flash-mma attention: FlashAttention-2 (Dao, 2023) on mma.sync for sm_80 and up. A block owns
// a tile of query rows of one head, a warp 16 or 32 of them; it walks over the keys in tiles that
// cp.async brings one step ahead, and keeps scores, running maximum, running sum and output in
// registers: the accumulator of Q K^T is, packed to halves, the operand A of P V. Key tiles beyond
// the diagonal are skipped, only tiles across a border are masked.
#include <climits>

#include "kernels/cuda/attention_math.cuh"
#include "kernels/cuda/attention_shape.h"
#include "kernels/cuda/dtypes.h"
#include "kernels/cuda/element.cuh"
#include "kernels/cuda/flash_mma_tile.cuh"
#include "kernels/cuda/implementations.h"

namespace kbench {
namespace cuda {
namespace {

constexpr int kKeys = 64;  // of a tile

// kRowTiles: 16-row tiles of a warp.
template <typename HalfType, int kHeadSize, int kWarpCount, int kRowTileCount>
struct Traits {
  using Half = HalfType;
  static constexpr int kHead = kHeadSize, kWarps = kWarpCount, kRowTiles = kRowTileCount;
  static constexpr int kThreads = 32 * kWarps;
  static constexpr int kWarpRows = 16 * kRowTiles;
  static constexpr int kRows = kWarps * kWarpRows;
  static constexpr int kSteps = kHead / 16;     // of 16 columns of Q
  static constexpr int kScoreTiles = kKeys / 8;  // accumulators of eight columns
  static constexpr int kOutputTiles = kHead / 8;
  // Q stays in registers where there is room for it; its shared memory is then the second K and V.
  static constexpr bool kKeepQ = kRowTiles * kHead <= 128;
  static constexpr int kTileBytes = kKeys * kHead * 2;
  static constexpr int kQBytes = kRows * kHead * 2;
  static constexpr int kAtK = kKeepQ ? 0 : kQBytes;
  static constexpr int kSharedBytes = kAtK + 3 * kTileBytes;  // K twice, V once
  static_assert(!kKeepQ || kQBytes <= 2 * kTileBytes);
  static constexpr int kBlocks = kRowTiles == 1 ? 12 / kWarps : 2;  // a multiprocessor, at least
};

struct Arguments {
  const void *q, *k, *v;
  void* o;
  std::int64_t h, hkv, s, row_tiles;
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
__device__ __forceinline__ void MultiplyQK(const WarpRows<T>& rows,
                                           SwizzledTile<T::kHead> q_tile,
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
        MultiplyAdd<typename T::Half>(scores[m][n], q[m], k[0], k[1]);
        MultiplyAdd<typename T::Half>(scores[m][n + 1], q[m], k[2], k[3]);
      }
    }
  }
}

// -infinity where row `row` + ... must not see key `key` + ...
template <typename T>
__device__ __forceinline__ void Mask(Scores<T>& scores, std::int64_t row, std::int64_t key,
                                     const Arguments& x) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int m = 0; m < T::kRowTiles; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const std::int64_t my_row = row + 16 * m + 8 * half + lane / 4;
      const std::int64_t limit = x.causal && my_row + 1 < x.s ? my_row + 1 : x.s;
      const std::int64_t left = limit - key;
      const int visible = left < kKeys ? static_cast<int>(left) : kKeys;
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
  for (int step = 0; step < kKeys / 16; ++step) {
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
        MultiplyAdd<Half>(rows.output[m][n], a[m], v[0], v[1]);
        MultiplyAdd<Half>(rows.output[m][n + 1], a[m], v[2], v[3]);
      }
    }
  }
}

// Normalises the warp's rows and writes them, through its own rows of `tile`, in whole chunks.
template <typename T>
__device__ __forceinline__ void StoreOutput(WarpRows<T>& rows, SwizzledTile<T::kHead> tile,
                                            int warp_row, void* o, std::int64_t first,
                                            std::int64_t s) {
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
  auto* bytes = static_cast<unsigned char*>(o);
#pragma unroll
  for (int i = lane; i < T::kWarpRows * kChunks; i += 32) {
    const int row = i / kChunks, chunk = i % kChunks;
    uint4 value;
    asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
                 : "r"(tile.At(warp_row + row, chunk))
                 : "memory");
    if (first + row < s) {
      *reinterpret_cast<uint4*>(bytes + (first + row) * T::kHead * 2 + chunk * 16) = value;
    }
  }
}

// Brings Q into registers or leaves it in shared memory, and starts the first K.
template <typename T>
__device__ __forceinline__ void LoadQ(WarpRows<T>& rows, SwizzledTile<T::kHead> q_tile,
                                      SwizzledTile<T::kHead> k_tile, int warp_row, const void* q,
                                      const void* k, std::int64_t row0, std::int64_t s) {
  q_tile.template Load<T::kRows, T::kThreads>(q, row0, s);
  if constexpr (T::kKeepQ) {
    CopyAsyncCommit();
    CopyAsyncWait<0>();
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
  k_tile.template Load<kKeys, T::kThreads>(k, 0, s);
  CopyAsyncCommit();
}

template <typename T>
__global__ void __launch_bounds__(T::kThreads, T::kBlocks) FlashMmaKernel(Arguments x) {
  extern __shared__ __align__(128) unsigned char shared[];
  const auto base = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
  const SwizzledTile<T::kHead> q_tile{base}, v_tile{base + T::kAtK + 2 * T::kTileBytes};
  // The longest tiles of a causal problem come first; neighbouring blocks share their keys.
  const std::int64_t heads = gridDim.x / x.row_tiles;
  const std::int64_t head = x.causal ? blockIdx.x % heads : blockIdx.x / x.row_tiles;
  const std::int64_t row_tile =
      x.causal ? x.row_tiles - 1 - blockIdx.x / heads : blockIdx.x % x.row_tiles;
  const std::int64_t head_bytes = x.s * T::kHead * 2;
  const auto* q = static_cast<const unsigned char*>(x.q) + head * head_bytes;
  const std::int64_t key_head = KeyHeadOf(head, x.h, x.hkv);
  const auto* k = static_cast<const unsigned char*>(x.k) + key_head * head_bytes;
  const auto* v = static_cast<const unsigned char*>(x.v) + key_head * head_bytes;
  const std::int64_t row0 = row_tile * T::kRows;
  const int warp_row = static_cast<int>(threadIdx.x / 32) * T::kWarpRows;
  const std::int64_t keys = x.causal && row0 + T::kRows < x.s ? row0 + T::kRows : x.s;

  WarpRows<T> rows;
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
  LoadQ<T>(rows, q_tile, {base + T::kAtK}, warp_row, q, k, row0, x.s);
  int stage = 0;
  for (std::int64_t key = 0; key < keys; key += kKeys, stage ^= 1) {
    const SwizzledTile<T::kHead> k_tile{base + T::kAtK + stage * T::kTileBytes};
    const SwizzledTile<T::kHead> next_k{base + T::kAtK + (stage ^ 1) * T::kTileBytes};
    __syncthreads();  // everybody is done with V
    v_tile.template Load<kKeys, T::kThreads>(v, key, x.s);
    CopyAsyncCommit();
    CopyAsyncWait<1>();
    __syncthreads();  // K is here
    Scores<T> scores = {};
    MultiplyQK<T>(rows, q_tile, k_tile, warp_row, scores);
    if (key + kKeys < keys) next_k.template Load<kKeys, T::kThreads>(k, key + kKeys, x.s);
    CopyAsyncCommit();
    const std::int64_t first_row = row0 + warp_row;
    if (key + kKeys > x.s || (x.causal && key + kKeys > first_row + 1)) {
      Mask<T>(scores, first_row, key, x);
    }
    Softmax<T>(rows, scores, x.scale);
    CopyAsyncWait<1>();
    __syncthreads();  // V is here
    MultiplyPV<T>(rows, scores, v_tile);
  }
  CopyAsyncWait<0>();
  __syncthreads();
  StoreOutput<T>(rows, q_tile, warp_row,
                 static_cast<unsigned char*>(x.o) + head * head_bytes, row0 + warp_row, x.s);
}

template <typename T>
CreateResult CreateTile(const AttentionShape& shape, const OperandPointers& operands) {
  const Arguments arguments{operands.inputs[0], operands.inputs[1], operands.inputs[2],
                            operands.output,    shape.h,            shape.hkv,
                            shape.s,            (shape.s + T::kRows - 1) / T::kRows,
                            shape.causal,       shape.ScoreScale()};
  const Geometry geometry{GridOf(shape.Tiles(T::kRows)), dim3(T::kThreads),
                          static_cast<std::size_t>(T::kSharedBytes)};
  return CreateSingleKernel(FlashMmaKernel<T>, geometry, [=](cudaStream_t stream) {
    return LaunchKernel(geometry, stream, FlashMmaKernel<T>, arguments);
  });
}

struct Tile {
  const char* name;
  int warps, row_tiles;
};
constexpr Tile kTiles[] = {{"128x64,warps=4", 4, 2}, {"64x64,warps=4", 4, 1},
                           {"128x64,warps=8", 8, 1}};

template <typename Half, int kHead>
CreateResult CreateHead(const Problem& problem, const OperandPointers& operands,
                        const std::string& candidate) {
  const AttentionShape shape = AttentionShape::Of(problem);
  if (candidate == kTiles[1].name) return CreateTile<Traits<Half, kHead, 4, 1>>(shape, operands);
  if (candidate == kTiles[2].name) return CreateTile<Traits<Half, kHead, 8, 1>>(shape, operands);
  return CreateTile<Traits<Half, kHead, 4, 2>>(shape, operands);
}

using Compiled = DTypes<DType::kFp16, DType::kBf16>;

CreateResult Create(const Problem& problem, const OperandPointers& operands,
                    const DeviceContext& context) {
  return Compiled::Create(problem.dtype, [&](auto dtype) {
    using Half = typename Element<decltype(dtype)::value>::Storage;
    if (problem.shape["d"] == 64) return CreateHead<Half, 64>(problem, operands, context.candidate);
    return CreateHead<Half, 128>(problem, operands, context.candidate);
  });
}

std::vector<std::string> Candidates(const Problem& /*problem*/) {
  std::vector<std::string> names;
  for (const Tile& tile : kTiles) names.push_back(tile.name);
  return names;
}

std::optional<std::string> Unsupported(const Problem& problem) {
  const AttentionShape shape = AttentionShape::Of(problem);
  if (shape.d != 64 && shape.d != 128) {
    return "d=" + std::to_string(shape.d) + " is not compiled: 64 and 128 are";
  }
  if (shape.Tiles(64) <= INT_MAX) return std::nullopt;
  return "b*h*s needs " + std::to_string(shape.Tiles(64)) + " blocks: at most " +
         std::to_string(INT_MAX);
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
