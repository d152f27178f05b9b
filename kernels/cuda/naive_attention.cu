// cuda/naive attention: one block a query row. It walks over the row's keys in tiles with a running
// maximum and sum (online softmax). All products in the accumulator's type, no tensor cores; tf32
// rounds q, k, the probabilities and v first.
#include "kernels/cuda/attention_shape.h"
#include "kernels/cuda/block_reduce.cuh"
#include "kernels/cuda/dtypes.h"
#include "kernels/cuda/element.cuh"
#include "kernels/cuda/implementations.h"
#include "kernels/cuda/naive.h"

namespace kbench {
namespace cuda {
namespace {

constexpr int kThreads = 128;  // also the keys of a tile
constexpr std::int64_t kMostHeadSize = 4096;

// scores[j] = scale * q . k[j] for the keys of one tile: a warp a key. -inf past the last key.
template <typename E>
__device__ void ScoreTile(const typename E::Compute* q, const typename E::Storage* k,
                          std::int64_t keys, std::int64_t d, typename E::Compute scale,
                          typename E::Compute* scores) {
  using Compute = typename E::Compute;
  const unsigned lane = threadIdx.x % 32;
  for (int j = threadIdx.x / 32; j < kThreads; j += kThreads / 32) {
    Compute dot = 0;
    if (j < keys) {
      for (std::int64_t l = lane; l < d; l += 32) dot += q[l] * E::Load(k[j * d + l]);
    }
    dot = WarpReduce(dot, Add{});
    if (lane == 0) scores[j] = j < keys ? dot * scale : -INFINITY;
  }
}

// q holds the row's d operands, sums its d weighted sums of v; both in shared memory.
template <typename E>
__device__ void AttendRow(const typename E::Compute* q, const typename E::Storage* k,
                          const typename E::Storage* v, typename E::Storage* o, std::int64_t keys,
                          std::int64_t d, typename E::Compute* sums) {
  using Compute = typename E::Compute;
  __shared__ Compute scores[kThreads];
  const Compute scale = 1 / sqrt(static_cast<Compute>(d));
  Compute largest = -INFINITY, total = 0;
  for (std::int64_t first = 0; first < keys; first += kThreads) {
    const std::int64_t here = keys - first < kThreads ? keys - first : kThreads;
    ScoreTile<E>(q, k + first * d, here, d, scale, scores);
    __syncthreads();
    const Compute score = scores[threadIdx.x];
    const Compute grown = Larger{}(largest, BlockReduce(score, Larger{}));
    const Compute shrink = exp(largest - grown);
    const Compute p = exp(score - grown);
    total = total * shrink + BlockReduce(p, Add{});
    scores[threadIdx.x] = E::Operand(p);
    largest = grown;
    __syncthreads();
    for (std::int64_t l = threadIdx.x; l < d; l += kThreads) {
      Compute sum = 0;
      for (int j = 0; j < here; ++j) sum += scores[j] * E::Load(v[(first + j) * d + l]);
      sums[l] = sums[l] * shrink + sum;
    }
    __syncthreads();
  }
  for (std::int64_t l = threadIdx.x; l < d; l += kThreads) o[l] = E::Store(sums[l] / total);
}

template <typename E>
__global__ void __launch_bounds__(kThreads)
    AttentionKernel(const typename E::Storage* q, const typename E::Storage* k,
                    const typename E::Storage* v, typename E::Storage* o, AttentionShape x) {
  using Compute = typename E::Compute;
  extern __shared__ unsigned char shared[];
  auto* row_q = reinterpret_cast<Compute*>(shared);
  Compute* sums = row_q + x.d;
  for (std::int64_t row = blockIdx.x; row < x.b * x.h * x.s; row += gridDim.x) {
    const std::int64_t keys_at = KeyHeadOf(row / x.s, x.h, x.hkv) * x.s * x.d;
    for (std::int64_t l = threadIdx.x; l < x.d; l += kThreads) {
      row_q[l] = E::Load(q[row * x.d + l]);
      sums[l] = 0;
    }
    __syncthreads();
    const std::int64_t keys = x.causal ? row % x.s + 1 : x.s;
    AttendRow<E>(row_q, k + keys_at, v + keys_at, o + row * x.d, keys, x.d, sums);
    __syncthreads();
  }
}

template <DType D>
CreateResult CreateAs(const Problem& problem, const OperandPointers& operands) {
  using E = Element<D>;
  using Storage = typename E::Storage;
  const AttentionShape extents = AttentionShape::Of(problem);
  const auto* q = static_cast<const Storage*>(operands.inputs[0]);
  const auto* k = static_cast<const Storage*>(operands.inputs[1]);
  const auto* v = static_cast<const Storage*>(operands.inputs[2]);
  auto* o = static_cast<Storage*>(operands.output);
  const Geometry geometry{GridOf(extents.QueryHeads() * extents.s), dim3(kThreads),
                          2 * static_cast<std::size_t>(extents.d) * sizeof(typename E::Compute)};
  return CreateSingleKernel(AttentionKernel<E>, geometry, [=](cudaStream_t stream) {
    return LaunchKernel(geometry, stream, AttentionKernel<E>, q, k, v, o, extents);
  });
}

using Compiled = DTypes<DType::kFp32, DType::kTf32, DType::kFp16, DType::kBf16>;

CreateResult Create(const Problem& problem, const OperandPointers& operands,
                    const DeviceContext& /*context*/) {
  return Compiled::Create(problem.dtype, [&](auto dtype) {
    return CreateAs<decltype(dtype)::value>(problem, operands);
  });
}

std::optional<std::string> Unsupported(const Problem& problem) {
  if (problem.shape["d"] <= kMostHeadSize) return std::nullopt;
  return "d=" + std::to_string(problem.shape["d"]) + " does not fit in shared memory: at most " +
         std::to_string(kMostHeadSize);
}

}  // namespace
}  // namespace cuda

Implementation CudaNaiveAttention() {
  return cuda::NaiveImplementation("attention",
                                   "one block a query row, online softmax, no tensor cores",
                                   cuda::Compiled::List(), cuda::Create, cuda::Unsupported);
}

}  // namespace kbench
