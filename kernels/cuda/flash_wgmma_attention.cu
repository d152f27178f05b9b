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
#include "kernels/cuda/compiled_for.h"
#include "kernels/cuda/dtypes.h"
#include "kernels/cuda/flash_wgmma_group.cuh"
#include "kernels/cuda/flash_wgmma_traits.cuh"
#include "kernels/cuda/implementations.h"
#include "kernels/cuda/mbarrier.cuh"
#include "kernels/cuda/tensor_map.h"
#include "kernels/cuda/tma.cuh"

namespace kbench {
namespace cuda {
namespace {

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
__device__ __forceinline__ void Produce(const FlashWgmmaArguments& x, unsigned char* shared,
                                        typename T::Barriers& barriers) {
  typename T::QRing q;
  typename T::KeyRing k, v;
  const int end = __ldg(x.offsets + blockIdx.x + 1);
  for (int i = __ldg(x.offsets + blockIdx.x); i < end; ++i) {
    const QueryTile<T> tile(x, i);
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
    const int first_key = tile.segment.first_key_tile, end_key = tile.segment.end_key_tile;
    load_k(first_key);
    for (int n = first_key + 1; n < end_key; ++n) {
      load_k(n);
      load_v(n - 1);
    }
    load_v(end_key - 1);
  }
}

// One thread: stores what the groups left in Q's buffer, then gives the buffer back.
template <typename T>
__device__ __forceinline__ void StoreOutputs(const FlashWgmmaArguments& x,
                                             const unsigned char* shared,
                                             typename T::Barriers& barriers) {
  typename T::QRing q;
  const int end = __ldg(x.offsets + blockIdx.x + 1);
  for (int i = __ldg(x.offsets + blockIdx.x); i < end; ++i) {
    const QueryTile<T> tile(x, i);
    for (int group = 0; group < T::kGroups; ++group) {
      BarrierWait(&barriers.o_full[q.at][group], q.phase);
      if (barriers.store[q.at][group] == 0) continue;
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
    FlashWgmmaKernel(const __grid_constant__ FlashWgmmaArguments x) {
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
    Group<T>(x, shared, barriers).Run();
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

// One block a multiprocessor, unless a block would have next to nothing to do.
int BlocksFor(const AttentionTiling& tiling) {
  constexpr std::int64_t kKeyTilesWorthABlock = 4;
  const std::int64_t tiles = tiling.heads * tiling.row_tiles;
  const std::int64_t useful = std::max(tiles, KeyTilesOf(tiling) / kKeyTilesWorthABlock);
  return static_cast<int>(std::clamp<std::int64_t>(CurrentDevice().multiprocessors, 1, useful));
}

// A schedule in device memory, with the room that its parts need.
class DeviceSchedule {
 public:
  // `part_bytes`: of one group.
  std::optional<ImplementationError> Fill(const AttentionSchedule& schedule, int groups,
                                          std::size_t part_bytes, FlashWgmmaArguments& x) {
    const auto parts = static_cast<std::size_t>(schedule.slots * groups);
    std::optional<ImplementationError> error =
        Copy("the schedule", schedule.offsets.data(), schedule.offsets.size(), offsets_);
    if (!error) {
      error = Copy("the schedule", schedule.segments.data(), schedule.segments.size(), segments_);
    }
    if (!error && parts > 0) {
      const std::vector<unsigned> none(parts);
      error = Copy("counters of parts", none.data(), none.size(), finished_);
    }
    if (!error && parts > 0) {
      error = partial_.Allocate("results of parts", static_cast<std::int64_t>(parts * part_bytes));
    }
    x.offsets = offsets_.as<int>();
    x.segments = segments_.as<AttentionSegment>();
    x.partial = partial_.as<float>();
    x.finished = finished_.as<unsigned>();
    return error;
  }

 private:
  template <typename V>
  static std::optional<ImplementationError> Copy(const char* what, const V* values,
                                                 std::size_t count, DeviceBuffer& to) {
    const std::size_t bytes = count * sizeof(V);
    if (auto error = to.Allocate(what, static_cast<std::int64_t>(bytes))) return error;
    const cudaError_t copied = cudaMemcpy(to.as<void>(), values, bytes, cudaMemcpyHostToDevice);
    if (copied == cudaSuccess) return std::nullopt;
    return DeviceError(what, copied);
  }

  DeviceBuffer offsets_, segments_, partial_, finished_;
};

template <typename T>
CreateResult CreateTile(const AttentionShape& shape, const OperandPointers& operands) {
  FlashWgmmaArguments x{};
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
  const AttentionTiling tiling{.heads = shape.QueryHeads(),
                               .row_tiles = shape.Tiles(T::kRows) / shape.QueryHeads(),
                               .rows = T::kRows,
                               .keys = T::kKeys,
                               .s = shape.s,
                               .causal = shape.causal,
                               .heads_at_once = HeadsInL2(shape)};
  const int blocks = BlocksFor(tiling);
  auto memory = std::make_shared<DeviceSchedule>();
  error = memory->Fill(ScheduleAttention(tiling, blocks), T::kGroups,
                       T::kPartFloats * 128 * sizeof(float), x);
  if (error) return *std::move(error);
  x.output = static_cast<std::uint32_t*>(operands.output);
  x.h = static_cast<int>(shape.h);
  x.hkv = static_cast<int>(shape.hkv);
  x.s = static_cast<int>(shape.s);
  x.row_tiles = static_cast<int>(tiling.row_tiles);
  x.causal = shape.causal;
  x.scale = shape.ScoreScale();
  const Geometry geometry{dim3(static_cast<unsigned>(blocks)), dim3(T::kThreads), T::kSharedBytes};
  return CreateSingleKernel(FlashWgmmaKernel<T>, geometry,
                            [=, keep = std::move(memory)](cudaStream_t stream) {
                              return LaunchKernel(geometry, stream, FlashWgmmaKernel<T>, x);
                            });
}

// Candidates: rows x keys of a tile. Three groups share K and V among more rows and hide more of
// the softmax, but their tiles fit fewer problems well.
constexpr const char *k128x128 = "128x128", *k128x160 = "128x160", *k192x128 = "192x128";

std::vector<std::string> Candidates(const Problem& problem) {
  if (problem.shape["d"] == 64) return {k192x128, k128x128};
  // More keys at once pay where a walk over the keys is long.
  if (problem.shape["s"] < 4096) return {k128x128, k128x160};
  return {k128x160, k128x128};
}

template <DType D>
CreateResult CreateAs(const Problem& problem, const OperandPointers& operands,
                      const std::string& asked) {
  const std::string candidate = asked.empty() ? Candidates(problem)[0] : asked;
  const AttentionShape shape = AttentionShape::Of(problem);
  if (shape.d == 64) {
    if (candidate == k128x128) return CreateTile<FlashWgmma<D, 64, 2, 128, 4, 2>>(shape, operands);
    return CreateTile<FlashWgmma<D, 64, 3, 128, 4, 2>>(shape, operands);
  }
  if (candidate == k128x160) return CreateTile<FlashWgmma<D, 128, 2, 160, 2, 2>>(shape, operands);
  return CreateTile<FlashWgmma<D, 128, 2, 128, 2, 2>>(shape, operands);
}

using Compiled = DTypes<DType::kFp16, DType::kBf16>;

CreateResult Create(const Problem& problem, const OperandPointers& operands,
                    const DeviceContext& context) {
  return Compiled::Create(problem.dtype, [&](auto dtype) {
    return CreateAs<decltype(dtype)::value>(problem, operands, context.candidate);
  });
}

std::optional<std::string> Unsupported(const Problem& problem) {
  return AttentionShape::Of(problem).NotOf64Or128(128);
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
  implementation.dtype_missing = [](DType) { return cuda::NeedsHopper(); };
  implementation.default_choice = true;
  implementation.rung = 3;
  implementation.unsupported = cuda::Unsupported;
  implementation.candidates = cuda::Candidates;
  implementation.create = cuda::Create;
  return implementation;
}

}  // namespace kbench
