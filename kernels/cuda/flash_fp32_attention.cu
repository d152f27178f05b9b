// cuda/flash-fp32 attention: the algorithm of FlashAttention (Dao et al., 2022) on CUDA cores in
// IEEE fp32. A block owns 64 query rows of one head, a half warp eight of them; keys and then
// values of 64 positions at a time share one buffer in shared memory. Scores and output stay in
// registers; probabilities go through shared memory from one half warp to itself. What limits it
// are the FMA units, so the tiles are shaped for two FMA-bound products: 128 FMAs for 12 loads.
#include <algorithm>

#include "kernels/cuda/attention_math.cuh"
#include "kernels/cuda/attention_shape.h"
#include "kernels/cuda/device_instance.h"
#include "kernels/cuda/implementations.h"

namespace kbench {
namespace cuda {
namespace {

constexpr int kThreads = 128, kColumnThreads = 16, kRowThreads = kThreads / kColumnThreads;
constexpr int kRows = 64, kKeys = 64;  // of a tile
constexpr int kThreadRows = kRows / kRowThreads, kThreadKeys = kKeys / kColumnThreads;
constexpr int kPadding = 4;  // floats: rows of one column of chunks then lie in different banks
constexpr int kMostHeadSize = 128;

// kHead columns of which x.d exist.
template <int kHead>
struct Shared {
  float q[kRows][kHead + kPadding];
  float keys[kKeys][kHead + kPadding];  // or values
  float p[kRows][kKeys + kPadding];
};

struct Arguments {
  const float *q, *k, *v;
  float* o;
  std::int64_t h, hkv, row_tiles;
  int s, d;
  bool causal;
  float scale;
};

// The part of one thread: rows ty + 8 i and keys tx + 16 j of the scores, the same rows and columns
// 64 c + 4 tx + 0..3 of the output.
template <int kHead>
struct ThreadTile {
  float output[kThreadRows][kHead / kColumnThreads] = {};
  float largest[kThreadRows];
  float sum[kThreadRows] = {};
};
using Scores = float[kThreadRows][kThreadKeys];

// 64 rows of d floats from global memory, zeros for rows and columns that do not exist.
template <int kHead>
__device__ __forceinline__ void LoadTile(float (&tile)[64][kHead + kPadding], const float* rows,
                                         int present, int d) {
  constexpr int kChunks = kHead / 4;
  for (int i = threadIdx.x; i < 64 * kChunks; i += kThreads) {
    const int row = i / kChunks, column = i % kChunks * 4;
    const float* from = rows + static_cast<std::int64_t>(row) * d + column;
    float4 value = {};
    if (row < present && d % 4 == 0) {
      if (column < d) value = *reinterpret_cast<const float4*>(from);
    } else if (row < present) {
      if (column < d) value.x = from[0];
      if (column + 1 < d) value.y = from[1];
      if (column + 2 < d) value.z = from[2];
      if (column + 3 < d) value.w = from[3];
    }
    *reinterpret_cast<float4*>(&tile[row][column]) = value;
  }
}

__device__ __forceinline__ float Dot(float4 a, float4 b, float sum) {
  sum = fmaf(a.x, b.x, sum);
  sum = fmaf(a.y, b.y, sum);
  sum = fmaf(a.z, b.z, sum);
  return fmaf(a.w, b.w, sum);
}

template <int kHead>
__device__ __forceinline__ void MultiplyQK(const Shared<kHead>& shared, int ty, int tx,
                                           Scores& scores) {
#pragma unroll 4
  for (int l = 0; l < kHead; l += 4) {
    float4 k[kThreadKeys];
#pragma unroll
    for (int j = 0; j < kThreadKeys; ++j) {
      k[j] = *reinterpret_cast<const float4*>(&shared.keys[tx + kColumnThreads * j][l]);
    }
#pragma unroll
    for (int i = 0; i < kThreadRows; ++i) {
      const float4 q = *reinterpret_cast<const float4*>(&shared.q[ty + kRowThreads * i][l]);
#pragma unroll
      for (int j = 0; j < kThreadKeys; ++j) scores[i][j] = Dot(q, k[j], scores[i][j]);
    }
  }
}

template <int kHead>
__device__ __forceinline__ void MultiplyPV(const Shared<kHead>& shared, int ty, int tx,
                                           ThreadTile<kHead>& tile) {
#pragma unroll 2
  for (int key = 0; key < kKeys; key += 4) {
    float4 p[kThreadRows];
#pragma unroll
    for (int i = 0; i < kThreadRows; ++i) {
      p[i] = *reinterpret_cast<const float4*>(&shared.p[ty + kRowThreads * i][key]);
    }
#pragma unroll
    for (int c = 0; c < kHead / 64; ++c) {
      float4 v[4];
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        v[j] = *reinterpret_cast<const float4*>(&shared.keys[key + j][64 * c + 4 * tx]);
      }
#pragma unroll
      for (int i = 0; i < kThreadRows; ++i) {
        float* o = &tile.output[i][4 * c];
        o[0] = Dot(p[i], {v[0].x, v[1].x, v[2].x, v[3].x}, o[0]);
        o[1] = Dot(p[i], {v[0].y, v[1].y, v[2].y, v[3].y}, o[1]);
        o[2] = Dot(p[i], {v[0].z, v[1].z, v[2].z, v[3].z}, o[2]);
        o[3] = Dot(p[i], {v[0].w, v[1].w, v[2].w, v[3].w}, o[3]);
      }
    }
  }
}

// Over the 16 lanes that share a row.
__device__ __forceinline__ float RowMax(float x) {
#pragma unroll
  for (int step = kColumnThreads / 2; step > 0; step /= 2) {
    x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, step));
  }
  return x;
}
__device__ __forceinline__ float RowSum(float x) {
#pragma unroll
  for (int step = kColumnThreads / 2; step > 0; step /= 2) {
    x += __shfl_xor_sync(0xffffffffu, x, step);
  }
  return x;
}

// Scores to probabilities in shared memory. Row i sees `visible` keys of this tile plus its number
// if causal, and never more than `present`.
template <int kHead>
__device__ __forceinline__ void Softmax(Shared<kHead>& shared, int ty, int tx, int visible,
                                        int present, const Arguments& x, Scores& scores,
                                        ThreadTile<kHead>& tile) {
#pragma unroll
  for (int i = 0; i < kThreadRows; ++i) {
    const int row = ty + kRowThreads * i;
    const int limit = x.causal ? min(present, visible + row) : present;
    float largest = tile.largest[i];
#pragma unroll
    for (int j = 0; j < kThreadKeys; ++j) {
      if (tx + kColumnThreads * j >= limit) scores[i][j] = -INFINITY;
      largest = fmaxf(largest, scores[i][j]);
    }
    largest = RowMax(largest);
    const float shrink = Exp2((tile.largest[i] - largest) * x.scale);
    tile.largest[i] = largest;
    tile.sum[i] *= shrink;
#pragma unroll
    for (int j = 0; j < kThreadKeys; ++j) {
      const float p = Exp2((scores[i][j] - largest) * x.scale);
      tile.sum[i] += p;
      shared.p[row][tx + kColumnThreads * j] = p;
    }
#pragma unroll
    for (int c = 0; c < kHead / kColumnThreads; ++c) tile.output[i][c] *= shrink;
  }
  __syncwarp();
}

template <int kHead>
__device__ __forceinline__ void StoreOutput(const ThreadTile<kHead>& tile, int ty, int tx,
                                            int present, int d, float* o) {
#pragma unroll
  for (int i = 0; i < kThreadRows; ++i) {
    const float inverse = 1 / RowSum(tile.sum[i]);
    const int row = ty + kRowThreads * i;
    if (row >= present) continue;
#pragma unroll
    for (int c = 0; c < kHead / kColumnThreads; ++c) {
      const int column = c / 4 * 64 + 4 * tx + c % 4;
      if (column < d) o[static_cast<std::int64_t>(row) * d + column] = tile.output[i][c] * inverse;
    }
  }
}

template <int kHead>
__global__ void __launch_bounds__(kThreads, 2) FlashFp32Kernel(Arguments x) {
  extern __shared__ __align__(16) unsigned char dynamic_shared[];
  auto& shared = *reinterpret_cast<Shared<kHead>*>(dynamic_shared);
  const int tx = threadIdx.x % kColumnThreads, ty = threadIdx.x / kColumnThreads;
  // The longest tiles of a causal problem come first.
  const std::int64_t heads = gridDim.x / x.row_tiles;
  const std::int64_t head = x.causal ? blockIdx.x % heads : blockIdx.x / x.row_tiles;
  const int row0 = kRows * static_cast<int>(x.causal ? x.row_tiles - 1 - blockIdx.x / heads
                                                     : blockIdx.x % x.row_tiles);
  const std::int64_t head_elements = std::int64_t{x.s} * x.d;
  const std::int64_t first = head * head_elements + std::int64_t{row0} * x.d;
  const std::int64_t first_key = KeyHeadOf(head, x.h, x.hkv) * head_elements;
  const int keys = x.causal && row0 + kRows < x.s ? row0 + kRows : x.s;

  ThreadTile<kHead> tile;
#pragma unroll
  for (int i = 0; i < kThreadRows; ++i) tile.largest[i] = -INFINITY;
  LoadTile<kHead>(shared.q, x.q + first, x.s - row0, x.d);
  for (int key = 0; key < keys; key += kKeys) {
    const std::int64_t at = first_key + std::int64_t{key} * x.d;
    __syncthreads();  // everybody is done with V
    LoadTile<kHead>(shared.keys, x.k + at, x.s - key, x.d);
    __syncthreads();
    Scores scores = {};
    MultiplyQK<kHead>(shared, ty, tx, scores);
    __syncthreads();  // ... with K
    LoadTile<kHead>(shared.keys, x.v + at, x.s - key, x.d);
    Softmax<kHead>(shared, ty, tx, row0 - key + 1, x.s - key, x, scores, tile);
    __syncthreads();
    MultiplyPV<kHead>(shared, ty, tx, tile);
  }
  StoreOutput<kHead>(tile, ty, tx, x.s - row0, x.d, x.o + first);
}

template <int kHead>
CreateResult CreateHead(const AttentionShape& shape, const OperandPointers& operands) {
  const auto input = [&](std::size_t i) { return static_cast<const float*>(operands.inputs[i]); };
  const Arguments arguments{.q = input(0),
                            .k = input(1),
                            .v = input(2),
                            .o = static_cast<float*>(operands.output),
                            .h = shape.h,
                            .hkv = shape.hkv,
                            .row_tiles = shape.Tiles(kRows) / shape.QueryHeads(),
                            .s = static_cast<int>(shape.s),
                            .d = static_cast<int>(shape.d),
                            .causal = shape.causal,
                            .scale = shape.ScoreScale()};
  const Geometry geometry{GridOf(shape.Tiles(kRows)), dim3(kThreads), sizeof(Shared<kHead>)};
  return CreateSingleKernel(FlashFp32Kernel<kHead>, geometry, [=](cudaStream_t stream) {
    return LaunchKernel(geometry, stream, FlashFp32Kernel<kHead>, arguments);
  });
}

CreateResult Create(const Problem& problem, const OperandPointers& operands,
                    const DeviceContext& /*context*/) {
  const AttentionShape shape = AttentionShape::Of(problem);
  return shape.d <= 64 ? CreateHead<64>(shape, operands) : CreateHead<128>(shape, operands);
}

std::optional<std::string> Unsupported(const Problem& problem) {
  const AttentionShape shape = AttentionShape::Of(problem);
  if (shape.d > kMostHeadSize) {
    return "d=" + std::to_string(shape.d) + " does not fit in registers: at most " +
           std::to_string(kMostHeadSize);
  }
  return shape.TooLong(kRows);
}

}  // namespace
}  // namespace cuda

Implementation CudaFlashFp32Attention() {
  Implementation implementation;
  implementation.name = "cuda/flash-fp32";
  implementation.family = "cuda";
  implementation.kernel = "attention";
  implementation.summary = "FlashAttention on CUDA cores: scores and output stay in registers";
  implementation.dtypes = {DType::kFp32};
  implementation.default_choice = true;
  implementation.rung = 1;
  implementation.unsupported = cuda::Unsupported;
  implementation.create = cuda::Create;
  return implementation;
}

}  // namespace kbench
