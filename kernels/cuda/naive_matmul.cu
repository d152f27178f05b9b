// cuda/naive matmul: 32 x 32 tiles through shared memory, one element a thread, plain multiply-adds
// in the accumulator's type. tf32 rounds the operands and multiplies them in fp32, which is exact.
#include "kernels/cuda/dtypes.h"
#include "kernels/cuda/element.cuh"
#include "kernels/cuda/implementations.h"
#include "kernels/cuda/naive.h"

namespace kbench {
namespace cuda {
namespace {

constexpr int kTile = 32;

struct Extents {
  std::int64_t m, n, k;
};

// One element of a tile of a rows x cols matrix that may lie transposed; zero outside of it.
// Threads of a warp (equal y) read neighbours in memory in either layout, so `down` and `right`
// change places.
template <typename E, bool Transposed>
__device__ void LoadTile(const typename E::Storage* matrix, std::int64_t rows, std::int64_t cols,
                         std::int64_t row0, std::int64_t col0,
                         typename E::Compute (&tile)[kTile][kTile + 1]) {
  const unsigned down = Transposed ? threadIdx.x : threadIdx.y;
  const unsigned right = Transposed ? threadIdx.y : threadIdx.x;
  const std::int64_t row = row0 + down, col = col0 + right;
  const bool inside = row < rows && col < cols;
  const std::int64_t at = Transposed ? col * rows + row : row * cols + col;
  tile[down][right] = inside ? E::Load(matrix[at]) : typename E::Compute{0};
}

template <typename E, bool TransposedA, bool TransposedB>
__global__ void __launch_bounds__(kTile* kTile)
    MatmulKernel(const typename E::Storage* a, const typename E::Storage* b, ResultOf<E>* c,
                 Extents x) {
  __shared__ typename E::Compute tile_a[kTile][kTile + 1];
  __shared__ typename E::Compute tile_b[kTile][kTile + 1];
  const std::int64_t across = (x.n + kTile - 1) / kTile;
  const std::int64_t tiles = across * ((x.m + kTile - 1) / kTile);
  for (std::int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const std::int64_t row0 = tile / across * kTile, col0 = tile % across * kTile;
    typename E::Compute sum = 0;
    for (std::int64_t l = 0; l < x.k; l += kTile) {
      LoadTile<E, TransposedA>(a, x.m, x.k, row0, l, tile_a);
      LoadTile<E, TransposedB>(b, x.k, x.n, l, col0, tile_b);
      __syncthreads();
      for (int i = 0; i < kTile; ++i) sum += tile_a[threadIdx.y][i] * tile_b[i][threadIdx.x];
      __syncthreads();
    }
    const std::int64_t row = row0 + threadIdx.y, col = col0 + threadIdx.x;
    if (row < x.m && col < x.n) c[row * x.n + col] = E::Store(sum);
  }
}

template <typename E>
auto KernelFor(const std::string& layout) {
  if (layout == "nn") return MatmulKernel<E, false, false>;
  if (layout == "nt") return MatmulKernel<E, false, true>;
  if (layout == "tn") return MatmulKernel<E, true, false>;
  return MatmulKernel<E, true, true>;
}

template <DType D>
CreateResult CreateAs(const Problem& problem, const OperandPointers& operands) {
  using E = Element<D>;
  const Extents extents{problem.shape["m"], problem.shape["n"], problem.shape["k"]};
  const auto* a = static_cast<const typename E::Storage*>(operands.inputs[0]);
  const auto* b = static_cast<const typename E::Storage*>(operands.inputs[1]);
  auto* c = static_cast<ResultOf<E>*>(operands.output);
  const std::int64_t tiles = ((extents.m + kTile - 1) / kTile) * ((extents.n + kTile - 1) / kTile);
  const Geometry geometry{GridOf(tiles), dim3(kTile, kTile)};
  const auto kernel = KernelFor<E>(problem.shape.layout);
  return CreateSingleKernel(kernel, geometry, [=](cudaStream_t stream) {
    return LaunchKernel(geometry, stream, kernel, a, b, c, extents);
  });
}

using Compiled = DTypes<DType::kFp64, DType::kFp32, DType::kTf32, DType::kFp16, DType::kBf16,
                        DType::kFp8E4M3, DType::kInt8>;

CreateResult Create(const Problem& problem, const OperandPointers& operands,
                    const DeviceContext& /*context*/) {
  return Compiled::Create(problem.dtype, [&](auto dtype) {
    return CreateAs<decltype(dtype)::value>(problem, operands);
  });
}

}  // namespace
}  // namespace cuda

Implementation CudaNaiveMatmul() {
  Implementation line = cuda::NaiveImplementation(
      "matmul", "32x32 tiles in shared memory, one element a thread, no tensor cores",
      cuda::Compiled::List(), cuda::Create);
  line.dtype_missing = cuda::MissingForProducts;
  return line;
}

}  // namespace kbench
