// cuda/tiled matmul: 64 x 64 tiles through shared memory, and 4 x 4 elements a thread in registers,
// so that an element read from shared memory serves four products where the plain kernel's serves
// one. tf32 rounds the operands and multiplies them in fp32, which is exact.
#include "kernels/cuda/dtypes.h"
#include "kernels/cuda/element.cuh"
#include "kernels/cuda/implementations.h"

namespace kbench {
namespace cuda {
namespace {

constexpr int kSide = 64;   // of a tile of C
constexpr int kDepth = 16;  // of a step along k
constexpr int kAcross = 16;
constexpr int kThreads = kAcross * kAcross;
constexpr int kEach = kSide / kAcross;  // elements of C a thread has along each side
constexpr int kCopies = kSide * kDepth / kThreads;

// A matrix whose first index runs over rows of A or columns of B, the second over k.
template <typename Storage>
struct Operand {
  const Storage* data;
  std::int64_t extent;  // of the first index
  std::int64_t pitch, k_pitch;
};

// What this thread copies of a step: loaded before the products of the step before, stored after
// them.
template <typename E>
struct Copy {
  typename E::Compute value[kCopies];

  // Threads of a warp read neighbours in memory, whichever index they run along.
  __device__ static void Place(bool along_k, int copy, int& at, int& l) {
    const int t = static_cast<int>(threadIdx.x);
    at = along_k ? t / kDepth + copy * (kThreads / kDepth) : t % kSide;
    l = along_k ? t % kDepth : t / kSide + copy * (kThreads / kSide);
  }
  __device__ void Load(const Operand<typename E::Storage>& x, std::int64_t first, std::int64_t k0,
                       std::int64_t k) {
#pragma unroll
    for (int i = 0; i < kCopies; ++i) {
      int at, l;
      Place(x.k_pitch == 1, i, at, l);
      const bool inside = first + at < x.extent && k0 + l < k;
      value[i] = inside ? E::Load(x.data[(first + at) * x.pitch + (k0 + l) * x.k_pitch])
                        : typename E::Compute{0};
    }
  }
  __device__ void Store(bool along_k, typename E::Compute (&tile)[kDepth][kSide + 1]) const {
#pragma unroll
    for (int i = 0; i < kCopies; ++i) {
      int at, l;
      Place(along_k, i, at, l);
      tile[l][at] = value[i];
    }
  }
};

template <typename E>
__global__ void __launch_bounds__(kThreads)
    TiledKernel(Operand<typename E::Storage> a, Operand<typename E::Storage> b,
                typename E::Storage* c, std::int64_t k) {
  using Compute = typename E::Compute;
  __shared__ Compute tile_a[kDepth][kSide + 1], tile_b[kDepth][kSide + 1];
  const std::int64_t across = (b.extent + kSide - 1) / kSide;
  const std::int64_t row0 = blockIdx.x / across * kSide, col0 = blockIdx.x % across * kSide;
  const int down = threadIdx.x / kAcross, right = threadIdx.x % kAcross;
  Compute sums[kEach][kEach] = {};
  Copy<E> copy_a, copy_b;
  copy_a.Load(a, row0, 0, k);
  copy_b.Load(b, col0, 0, k);
  for (std::int64_t k0 = 0; k0 < k; k0 += kDepth) {
    copy_a.Store(a.k_pitch == 1, tile_a);
    copy_b.Store(b.k_pitch == 1, tile_b);
    __syncthreads();
    copy_a.Load(a, row0, k0 + kDepth, k);
    copy_b.Load(b, col0, k0 + kDepth, k);
#pragma unroll
    for (int l = 0; l < kDepth; ++l) {
      Compute of_a[kEach], of_b[kEach];
#pragma unroll
      for (int i = 0; i < kEach; ++i) of_a[i] = tile_a[l][down + i * kAcross];
#pragma unroll
      for (int j = 0; j < kEach; ++j) of_b[j] = tile_b[l][right + j * kAcross];
#pragma unroll
      for (int i = 0; i < kEach; ++i) {
#pragma unroll
        for (int j = 0; j < kEach; ++j) sums[i][j] += of_a[i] * of_b[j];
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
#pragma unroll
    for (int j = 0; j < kEach; ++j) {
      const std::int64_t row = row0 + down + i * kAcross, col = col0 + right + j * kAcross;
      if (row < a.extent && col < b.extent) c[row * b.extent + col] = E::Store(sums[i][j]);
    }
  }
}

template <DType D>
CreateResult CreateAs(const Problem& problem, const OperandPointers& operands) {
  using E = Element<D>;
  using Storage = typename E::Storage;
  const std::int64_t m = problem.shape["m"], n = problem.shape["n"], k = problem.shape["k"];
  const bool a_stored_kxm = problem.shape.layout[0] == 't';
  const bool b_stored_nxk = problem.shape.layout[1] == 't';
  const Operand<Storage> a{static_cast<const Storage*>(operands.inputs[0]), m, a_stored_kxm ? 1 : k,
                           a_stored_kxm ? m : 1};
  const Operand<Storage> b{static_cast<const Storage*>(operands.inputs[1]), n, b_stored_nxk ? k : 1,
                           b_stored_nxk ? 1 : n};
  auto* c = static_cast<Storage*>(operands.output);
  const Geometry geometry{GridOf(((m + kSide - 1) / kSide) * ((n + kSide - 1) / kSide)),
                          dim3(kThreads)};
  return CreateSingleKernel(TiledKernel<E>, geometry, [=](cudaStream_t stream) {
    return LaunchKernel(geometry, stream, TiledKernel<E>, a, b, c, k);
  });
}

using Compiled = DTypes<DType::kFp64, DType::kFp32, DType::kTf32, DType::kFp16, DType::kBf16>;

CreateResult Create(const Problem& problem, const OperandPointers& operands,
                    const DeviceContext& /*context*/) {
  return Compiled::Create(problem.dtype, [&](auto dtype) {
    return CreateAs<decltype(dtype)::value>(problem, operands);
  });
}

}  // namespace
}  // namespace cuda

Implementation CudaTiledMatmul() {
  return {.name = "cuda/tiled",
          .family = "cuda",
          .kernel = "matmul",
          .summary = "64x64 tiles in shared memory, 4x4 elements a thread, no tensor cores",
          .dtypes = cuda::Compiled::List(),
          .default_choice = true,
          .rung = 1,
          .create = cuda::Create};
}

}  // namespace kbench
