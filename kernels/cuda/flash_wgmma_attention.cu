// cuda/flash-wgmma attention: FlashAttention-3 (Shah et al., 2024) for sm_90a. A block stays on its
// multiprocessor and works through a list of tiles of query rows. One warp brings Q, K and V by
// TMA, one warp sends the output off; two or three warp groups own 64 rows each. A group starts
// the scores of the next keys and the product of the last probabilities with V together, and
// computes a softmax under them. A token passes between the groups: while one has the tensor cores,
// the others compute their softmax. Probabilities and output stay in registers.
#include <cstddef>
#include <memory>
#include <utility>

#include "kernels/cuda/attention_schedule.h"
#include "kernels/cuda/attention_shape.h"
#include "kernels/cuda/dtypes.h"
#include "kernels/cuda/flash_wgmma_rows.cuh"
#include "kernels/cuda/flash_wgmma_traits.cuh"
#include "kernels/cuda/implementations.h"
#include "kernels/cuda/mbarrier.cuh"
#include "kernels/cuda/tensor_map.h"
#include "kernels/cuda/tma.cuh"

namespace kbench {
namespace cuda {
namespace {

struct Arguments {
  CUtensorMap q, k, v, o;
  const int* schedule;
  int h, hkv, s, row_tiles;
  bool causal;
  float scale;
};

// A tile of the schedule.
template <typename T>
struct Tile {
  int head, row0, key_tiles;
  __device__ __forceinline__ Tile(const Arguments& x, int index) {
    const int tile = __ldg(x.schedule + index);
    head = tile / x.row_tiles;
    row0 = (tile - head * x.row_tiles) * T::kRows;
    const int keys = x.causal && row0 + T::kRows < x.s ? row0 + T::kRows : x.s;
    key_tiles = (keys + T::kKeys - 1) / T::kKeys;
  }
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// Brings one tile of keys or values when its buffer is free.
template <typename T>
__device__ __forceinline__ void LoadKeys(unsigned char* buffers, std::uint64_t* full,
                                         std::uint64_t* empty, typename T::KeyRing& ring,
                                         const CUtensorMap* map, int first, int head) {
  BarrierWait(empty + ring.at, ring.phase ^ 1);
  BarrierArriveExpect(full + ring.at, T::kKeyBytes);
#pragma unroll
  for (int panel = 0; panel < T::kPanels; ++panel) {
    TmaLoad(buffers + ring.at * T::kKeyBytes + panel * T::kKeys * kPanelRowBytes, map,
            full + ring.at, 64 * panel, first, head);
  }
  ring.Next();
}

// One thread: everything that is read, in the order in which it is needed.
template <typename T>
__device__ __forceinline__ void Produce(const Arguments& x, unsigned char* shared,
                                        typename T::Barriers& barriers) {
  typename T::QRing q;
  typename T::KeyRing k, v;
  const int end = __ldg(x.schedule + blockIdx.x + 1);
  for (int i = __ldg(x.schedule + blockIdx.x); i < end; ++i) {
    const Tile<T> tile(x, i);
    const int key_head = KeyHeadOf(tile.head, x.h, x.hkv);
    const auto load_k = [&](int n) {
      LoadKeys<T>(shared + T::kAtK, barriers.k_full, barriers.k_empty, k, &x.k, n * T::kKeys,
                  key_head);
    };
    const auto load_v = [&](int n) {
      LoadKeys<T>(shared + T::kAtV, barriers.v_full, barriers.v_empty, v, &x.v, n * T::kKeys,
                  key_head);
    };
    BarrierWait(barriers.q_empty + q.at, q.phase ^ 1);
    BarrierArriveExpect(barriers.q_full + q.at, T::kQBytes);
#pragma unroll
    for (int panel = 0; panel < T::kPanels; ++panel) {
      TmaLoad(shared + q.at * T::kQBytes + panel * T::kRows * kPanelRowBytes, &x.q,
              barriers.q_full + q.at, 64 * panel, tile.row0, tile.head);
    }
    q.Next();
    load_k(0);
    for (int n = 1; n < tile.key_tiles; ++n) {
      load_k(n);
      load_v(n - 1);
    }
    load_v(tile.key_tiles - 1);
  }
}

// One thread: stores what the groups left in Q's buffer, then gives the buffer back.
template <typename T>
__device__ __forceinline__ void StoreOutputs(const Arguments& x, const unsigned char* shared,
                                             typename T::Barriers& barriers) {
  typename T::QRing q;
  const int end = __ldg(x.schedule + blockIdx.x + 1);
  for (int i = __ldg(x.schedule + blockIdx.x); i < end; ++i) {
    const Tile<T> tile(x, i);
    for (int group = 0; group < T::kGroups; ++group) {
      BarrierWait(&barriers.o_full[q.at][group], q.phase);
#pragma unroll
      for (int panel = 0; panel < T::kPanels; ++panel) {
        const unsigned row = panel * T::kRows + group * kGroupRows;
        TmaStore(&x.o, shared + q.at * T::kQBytes + row * kPanelRowBytes, 64 * panel,
                 tile.row0 + group * kGroupRows, tile.head);
      }
      TmaCommit();
    }
    TmaWaitRead<0>();
    BarrierArrive(barriers.q_empty + q.at);
    q.Next();
  }
  TmaWait<0>();
}

// Named barriers: 1 + group is the group's token, 1 + kGroups + group the group's own.
template <typename T>
struct Token {
  unsigned group;
  __device__ __forceinline__ void Take() const { NamedBarrierSync(1 + group, 256); }
  __device__ __forceinline__ void Pass() const {
    NamedBarrierArrive(1 + (group + 1 == T::kGroups ? 0 : group + 1), 256);
  }
};

// What one consumer group does with its part of a tile. All of its threads.
template <typename T>
struct Group {
  using Half = typename T::Half;
  const Arguments& x;
  typename T::Barriers& barriers;
  Token<T> token;
  std::uint64_t k_tiles, v_tiles;  // descriptors
  typename T::KeyRing k, v;

  // The tile at hand.
  std::uint64_t q;  // describes the group's rows
  int first_row;
  int unmasked;  // key tiles of which every row sees every key
  RowState rows;

  __device__ __forceinline__ void Begin(int row, std::uint32_t q_address) {
    q = DescribeKMajor(q_address);
    first_row = row;
    unmasked = min(x.s, x.causal ? row + 1 : x.s) / T::kKeys;
    ClearRows(rows);
  }

  __device__ __forceinline__ void WaitK() const { BarrierWait(barriers.k_full + k.at, k.phase); }
  __device__ __forceinline__ void WaitV() const { BarrierWait(barriers.v_full + v.at, v.phase); }
  __device__ __forceinline__ void ReleaseK() {
    if (threadIdx.x % 32 == 0) BarrierArrive(barriers.k_empty + k.at);
    k.Next();
  }
  __device__ __forceinline__ void ReleaseV() {
    if (threadIdx.x % 32 == 0) BarrierArrive(barriers.v_empty + v.at);
    v.Next();
  }

  __device__ __forceinline__ void StartScores(float (&scores)[T::kKeys / 2]) const {
    WgmmaFence();
    StartQK<T::kDType, T::kHead, T::kRows, T::kKeys>(scores, q,
                                                     Advance(k_tiles, k.at * T::kKeyBytes));
  }
  __device__ __forceinline__ void StartOutput(float (&output)[T::kHead / 2],
                                              const std::uint32_t (&p)[T::kKeys / 16][4],
                                              bool add) const {
    WgmmaFence();
    StartPV<T::kDType, T::kHead, T::kKeys>(output, p, Advance(v_tiles, v.at * T::kKeyBytes), add);
  }
  // Masks the scores of key tile n and makes them probabilities.
  __device__ __forceinline__ void Probabilities(float (&scores)[T::kKeys / 2], int n) {
    if (n >= unmasked) {
      const int row =
          first_row + static_cast<int>(threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4);
      const int first = n * T::kKeys;
      MaskScores<T::kKeys>(scores, x.causal ? row + 1 - first : T::kKeys, x.causal ? 8 : 0,
                           x.s - first);
    }
    Softmax<T::kKeys>(scores, rows, x.scale);
  }

  // The scores of the next keys and the last product with V run under the softmax.
  __device__ __forceinline__ void Overlapped(int key_tiles, float (&output)[T::kHead / 2]) {
    float scores[T::kKeys / 2];
    std::uint32_t p[T::kKeys / 16][4];
    WaitK();
    StartScores(scores);
    WgmmaWait<0>();
    KeepInRegisters(scores);
    ReleaseK();
    Probabilities(scores, 0);
    PackProbabilities<Half, T::kKeys>(scores, p);
    for (int n = 1; n < key_tiles; ++n) {
      WaitK();
      token.Take();
      StartScores(scores);
      WaitV();
      StartOutput(output, p, n > 1);
      token.Pass();
      WgmmaWait<1>();
      KeepInRegisters(scores);
      ReleaseK();
      Probabilities(scores, n);
      FinishOutput(output);
      PackProbabilities<Half, T::kKeys>(scores, p);
      ScaleRows(output, rows.shrink);
      KeepInRegisters(p);
      KeepInRegisters(output);
    }
    WaitV();
    StartOutput(output, p, key_tiles > 1);
    FinishOutput(output);
  }

  // One after the other: needs fewer registers, and other groups to fill the gaps.
  __device__ __forceinline__ void Plain(int key_tiles, float (&output)[T::kHead / 2]) {
    for (int n = 0; n < key_tiles; ++n) {
      float scores[T::kKeys / 2];
      std::uint32_t p[T::kKeys / 16][4];
      WaitK();
      StartScores(scores);
      WgmmaWait<0>();
      KeepInRegisters(scores);
      ReleaseK();
      Probabilities(scores, n);
      PackProbabilities<Half, T::kKeys>(scores, p);
      if (n > 0) ScaleRows(output, rows.shrink);
      KeepInRegisters(p);
      KeepInRegisters(output);
      WaitV();
      StartOutput(output, p, n > 0);
      FinishOutput(output);
    }
  }

  __device__ __forceinline__ void FinishOutput(float (&output)[T::kHead / 2]) {
    WgmmaWait<0>();
    KeepInRegisters(output);
    ReleaseV();
  }
  __device__ __forceinline__ void Normalise(float (&output)[T::kHead / 2]) const {
    const float inverse[2] = {1 / QuadSum(rows.sum[0]), 1 / QuadSum(rows.sum[1])};
    ScaleRows(output, inverse);
  }
};

template <typename T>
__device__ __forceinline__ void Consume(const Arguments& x, unsigned char* shared,
                                        typename T::Barriers& barriers) {
  const Token<T> token{threadIdx.x / 128 - 1};
  if (T::kOverlap && token.group == T::kGroups - 1) token.Pass();
  const std::uint32_t base = SharedAddress(shared);
  Group<T> group{.x = x,
                 .barriers = barriers,
                 .token = token,
                 .k_tiles = DescribeKMajor(base + T::kAtK),
                 .v_tiles = DescribeMnMajor(base + T::kAtV, T::kKeys * kPanelRowBytes)};
  typename T::QRing q;
  const int end = __ldg(x.schedule + blockIdx.x + 1);
  for (int i = __ldg(x.schedule + blockIdx.x); i < end; ++i) {
    const Tile<T> tile(x, i);
    const unsigned row = token.group * kGroupRows;
    const std::uint32_t address = base + q.at * T::kQBytes + row * kPanelRowBytes;
    group.Begin(tile.row0 + static_cast<int>(row), address);
    float output[T::kHead / 2];
    BarrierWait(barriers.q_full + q.at, q.phase);
    if constexpr (T::kOverlap) {
      group.Overlapped(tile.key_tiles, output);
    } else {
      group.Plain(tile.key_tiles, output);
    }
    group.Normalise(output);
    NamedBarrierSync(1 + T::kGroups + token.group, 128);  // all of the group have read their Q
    WriteOutput<typename T::Half, T::kHead, T::kRows>(output, address);
    FenceAsyncProxy();
    BarrierArrive(&barriers.o_full[q.at][token.group]);
    q.Next();
  }
  if (T::kOverlap && token.group == 0) token.Take();  // leaves no arrival behind
}

template <typename T>
__device__ __forceinline__ void InitBarriers(typename T::Barriers& barriers) {
  for (int i = 0; i < T::kQStages; ++i) {
    BarrierInit(barriers.q_full + i, 1);
    BarrierInit(barriers.q_empty + i, 1);
    for (int group = 0; group < T::kGroups; ++group) BarrierInit(&barriers.o_full[i][group], 128);
  }
  for (int i = 0; i < T::kStages; ++i) {
    BarrierInit(barriers.k_full + i, 1);
    BarrierInit(barriers.v_full + i, 1);
    BarrierInit(barriers.k_empty + i, 4 * T::kGroups);
    BarrierInit(barriers.v_empty + i, 4 * T::kGroups);
  }
  FenceBarrierInit();
}

#endif  // __CUDA_ARCH_FEAT_SM90_ALL

template <typename T>
__global__ void __launch_bounds__(T::kThreads, 1)
    FlashWgmmaKernel(const __grid_constant__ Arguments x) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ unsigned char dynamic_shared[];
  unsigned char* shared = dynamic_shared + (-SharedAddress(dynamic_shared) & (T::kAlignment - 1));
  auto& barriers = *reinterpret_cast<typename T::Barriers*>(shared + T::kAtBarriers);
  if (threadIdx.x == 0) InitBarriers<T>(barriers);
  __syncthreads();
  if (threadIdx.x < 128) {
    GiveRegisters<T::kProducerRegisters>();
    if (threadIdx.x == 0) Produce<T>(x, shared, barriers);
    if (threadIdx.x == 32) StoreOutputs<T>(x, shared, barriers);
  } else {
    TakeRegisters<T::kConsumerRegisters>();
    Consume<T>(x, shared, barriers);
  }
#endif
}

// A [heads, s, d] operand, taken in boxes of `rows` rows and 64 columns.
std::optional<ImplementationError> MapHeads(DType dtype, const AttentionShape& shape,
                                            std::int64_t heads, int rows, const void* base,
                                            CUtensorMap* map) {
  TensorLayout layout;
  layout.type =
      dtype == DType::kBf16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
  const auto d = static_cast<std::uint64_t>(shape.d), s = static_cast<std::uint64_t>(shape.s);
  layout.extents = {d, s, static_cast<std::uint64_t>(heads)};
  layout.strides_bytes = {2 * d, 2 * d * s};
  layout.box = {64, static_cast<std::uint32_t>(rows), 1};
  return MakeTensorMap(layout, base, map);
}

// How many heads' keys and values half of L2 holds.
std::int64_t HeadsInL2(const AttentionShape& shape) {
  const std::int64_t key_heads = CurrentDevice().l2_bytes / 2 / (4 * shape.s * shape.d);
  return std::max<std::int64_t>(1, key_heads) * (shape.h / shape.hkv);
}

template <typename T>
CreateResult CreateTile(const AttentionShape& shape, const OperandPointers& operands) {
  Arguments x{};
  std::optional<ImplementationError> error =
      MapHeads(T::kDType, shape, shape.QueryHeads(), T::kRows, operands.inputs[0], &x.q);
  if (!error) {
    error = MapHeads(T::kDType, shape, shape.KeyHeads(), T::kKeys, operands.inputs[1], &x.k);
  }
  if (!error) {
    error = MapHeads(T::kDType, shape, shape.KeyHeads(), T::kKeys, operands.inputs[2], &x.v);
  }
  if (!error) {
    error = MapHeads(T::kDType, shape, shape.QueryHeads(), kGroupRows, operands.output, &x.o);
  }
  if (error) return *std::move(error);
  const std::int64_t tiles = shape.Tiles(T::kRows);
  const auto blocks =
      static_cast<int>(std::min<std::int64_t>(tiles, std::max(1, CurrentDevice().multiprocessors)));
  const AttentionTiling tiling{.heads = shape.QueryHeads(),
                               .row_tiles = tiles / shape.QueryHeads(),
                               .rows = T::kRows,
                               .keys = T::kKeys,
                               .s = shape.s,
                               .causal = shape.causal,
                               .heads_at_once = HeadsInL2(shape)};
  const std::vector<int> schedule = ScheduleAttention(tiling, blocks);
  const std::size_t bytes = schedule.size() * sizeof(int);
  auto buffer = std::make_shared<DeviceBuffer>();
  error = buffer->Allocate("the schedule", static_cast<std::int64_t>(bytes));
  if (error) return *std::move(error);
  const cudaError_t copied =
      cudaMemcpy(buffer->as<int>(), schedule.data(), bytes, cudaMemcpyHostToDevice);
  if (copied != cudaSuccess) return DeviceError("copying the schedule", copied);
  x.schedule = buffer->as<int>();
  x.h = static_cast<int>(shape.h);
  x.hkv = static_cast<int>(shape.hkv);
  x.s = static_cast<int>(shape.s);
  x.row_tiles = static_cast<int>(tiling.row_tiles);
  x.causal = shape.causal;
  x.scale = shape.ScoreScale();
  const Geometry geometry{dim3(static_cast<unsigned>(blocks)), dim3(T::kThreads), T::kSharedBytes};
  return CreateSingleKernel(FlashWgmmaKernel<T>, geometry,
                            [=, keep = std::move(buffer)](cudaStream_t stream) {
                              return LaunchKernel(geometry, stream, FlashWgmmaKernel<T>, x);
                            });
}

// Candidates: rows x keys of a tile. Three groups share K and V among more rows and hide more of
// the softmax, but their tiles fit fewer problems well.
constexpr const char *k128x128 = "128x128", *k128x160 = "128x160", *k128x176 = "128x176",
                     *k128x192 = "128x192", *k192x128 = "192x128";

template <DType D>
CreateResult CreateAs(const Problem& problem, const OperandPointers& operands,
                      const std::string& candidate) {
  const AttentionShape shape = AttentionShape::Of(problem);
  if (shape.d == 64) {
    if (candidate == k128x192) return CreateTile<FlashWgmma<D, 64, 2, 192, 3, 2>>(shape, operands);
    if (candidate == k128x128) return CreateTile<FlashWgmma<D, 64, 2, 128, 4, 2>>(shape, operands);
    return CreateTile<FlashWgmma<D, 64, 3, 128, 4, 2>>(shape, operands);
  }
  if (candidate == k192x128)
    return CreateTile<FlashWgmma<D, 128, 3, 128, 2, 2, false>>(shape, operands);
  if (candidate == k128x160) return CreateTile<FlashWgmma<D, 128, 2, 160, 2, 2>>(shape, operands);
  if (candidate == k128x176) return CreateTile<FlashWgmma<D, 128, 2, 176, 2, 1>>(shape, operands);
  return CreateTile<FlashWgmma<D, 128, 2, 128, 2, 2>>(shape, operands);
}

using Compiled = DTypes<DType::kFp16, DType::kBf16>;

CreateResult Create(const Problem& problem, const OperandPointers& operands,
                    const DeviceContext& context) {
  return Compiled::Create(problem.dtype, [&](auto dtype) {
    return CreateAs<decltype(dtype)::value>(problem, operands, context.candidate);
  });
}

std::vector<std::string> Candidates(const Problem& problem) {
  if (problem.shape["d"] == 64) return {k192x128, k128x192, k128x128};
  return {k128x128, k128x160, k128x176, k192x128};
}

std::optional<std::string> Unsupported(const Problem& problem) {
  const AttentionShape shape = AttentionShape::Of(problem);
  if (shape.d != 64 && shape.d != 128) {
    return "d=" + std::to_string(shape.d) + " is not compiled: 64 and 128 are";
  }
  return shape.TooLong(128);
}

}  // namespace
}  // namespace cuda

Implementation CudaFlashWgmmaAttention() {
  Implementation implementation;
  implementation.name = "cuda/flash-wgmma";
  implementation.family = "cuda";
  implementation.kernel = "attention";
  implementation.summary =
      "FlashAttention-3: TMA, wgmma, softmax of one warp group under the products of another";
  implementation.dtypes = cuda::Compiled::List();
  implementation.dtype_missing = [](DType) { return cuda::NeedsCapability(90, true); };
  implementation.default_choice = true;
  implementation.rung = 3;
  implementation.unsupported = cuda::Unsupported;
  implementation.candidates = cuda::Candidates;
  implementation.create = cuda::Create;
  return implementation;
}

}  // namespace kbench
