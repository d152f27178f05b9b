// Matmul through nvcuda::wmma, the tensor cores as C++ offers them: fragments are loaded from tiles
// in shared memory that lie as the matrices do, so any layout is a matter of the fragment's own.
// Device code; the host side is wmma_matmul.cu.
#pragma once

#include <mma.h>

#include <cstdint>

#include "kernels/cuda/async_copy.cuh"
#include "kernels/cuda/element.cuh"
#include "kernels/cuda/matmul_raster.cuh"

namespace kbench::cuda {

// What wmma multiplies for a dtype, and how a block's tile is cut.
template <DType D>
struct WmmaShape {
  static constexpr int kM = 16, kN = 16, kK = 16;  // of a fragment
  static constexpr int kBlock = 128, kWarpM = 64, kWarpN = 32, kDepth = 32;
  using Multiplicand = typename Element<D>::Storage;
};
template <>
struct WmmaShape<DType::kTf32> {
  static constexpr int kM = 16, kN = 16, kK = 8;
  static constexpr int kBlock = 128, kWarpM = 64, kWarpN = 32, kDepth = 16;
  using Multiplicand = nvcuda::wmma::precision::tf32;
};
template <>
struct WmmaShape<DType::kFp64> {
  static constexpr int kM = 8, kN = 8, kK = 4;
  static constexpr int kBlock = 64, kWarpM = 32, kWarpN = 32, kDepth = 16;
  using Multiplicand = double;
};

template <DType D>
struct WmmaTile : WmmaShape<D> {
  using Shape = WmmaShape<D>;
  using Storage = typename Element<D>::Storage;
  using Compute = typename Element<D>::Compute;
  static constexpr int kStages = 3;
  // That should share a multiprocessor, where it has the shared memory for it; tf32 would spill.
#if defined(__CUDA_ARCH__) && \
    (__CUDA_ARCH__ == 860 || __CUDA_ARCH__ == 890 || __CUDA_ARCH__ >= 1200)
  static constexpr int kBlocks = 1;
#else
  static constexpr int kBlocks = D == DType::kTf32 ? 1 : 2;
#endif
  static constexpr int kWarpsAcross = Shape::kBlock / Shape::kWarpN;
  static constexpr int kThreads = Shape::kBlock / Shape::kWarpM * kWarpsAcross * 32;
  static constexpr int kFragmentsM = Shape::kWarpM / Shape::kM;
  static constexpr int kFragmentsN = Shape::kWarpN / Shape::kN;
  // Rows of a tile are 16 bytes longer than their elements: eight of them hit 32 banks.
  static constexpr int kWord = 16 / static_cast<int>(sizeof(Storage));
  static constexpr int kOperandElements = Shape::kBlock * (Shape::kDepth + kWord);
  static constexpr int kSharedBytes =
      kStages * 2 * kOperandElements * static_cast<int>(sizeof(Storage));
  static constexpr int kResultPitch = Shape::kN + 16 / static_cast<int>(sizeof(Compute));
  static_assert(Shape::kDepth * (Shape::kBlock + kWord) <= kOperandElements);
  static_assert(kThreads / 32 * Shape::kM * kResultPitch * sizeof(Compute) <= kSharedBytes);
};

// One operand: rows of A or columns of B ("lines") times k.
template <typename Storage>
struct WmmaOperand {
  const Storage* data;
  int lines, depth;
  bool whole_words;  // 16 bytes at a time may be copied

  // Whichever of the two is contiguous.
  template <bool kDepthContiguous>
  __device__ const Storage* At(int line, int at_depth) const {
    return kDepthContiguous ? data + static_cast<std::int64_t>(line) * depth + at_depth
                            : data + static_cast<std::int64_t>(at_depth) * lines + line;
  }
};

// How an operand's tile lies in shared memory.
template <DType D, bool kDepthContiguous>
struct SharedTile {
  using T = WmmaTile<D>;
  static constexpr int kInner = kDepthContiguous ? T::kDepth : T::kBlock;
  static constexpr int kOuter = kDepthContiguous ? T::kBlock : T::kDepth;
  static constexpr int kPitch = kInner + T::kWord;
  __device__ static int At(int line, int depth) {
    return kDepthContiguous ? line * kPitch + depth : depth * kPitch + line;
  }
};

// Copies a tile. Lines past the last are the last one's: what they give is not stored. Depths past
// the last are zeros.
template <DType D, bool kDepthContiguous>
__device__ void CopyTile(typename WmmaTile<D>::Storage* tile,
                         const WmmaOperand<typename WmmaTile<D>::Storage>& x, int first,
                         int depth0) {
  using T = WmmaTile<D>;
  using Shared = SharedTile<D, kDepthContiguous>;
  using Storage = typename T::Storage;
  if (x.whole_words) {
    constexpr int kWords = Shared::kInner / T::kWord;
    static_assert(kWords * Shared::kOuter % T::kThreads == 0);
#pragma unroll
    for (int pass = 0; pass < kWords * Shared::kOuter / T::kThreads; ++pass) {
      const int at = static_cast<int>(threadIdx.x) + pass * T::kThreads;
      const int outer = at / kWords, inner = at % kWords * T::kWord;
      const int line = first + (kDepthContiguous ? outer : inner);
      const int depth = depth0 + (kDepthContiguous ? inner : outer);
      const bool exists = depth < x.depth;
      const int last = x.lines - (kDepthContiguous ? 1 : T::kWord);
      CopyAsync<16>(tile + outer * Shared::kPitch + inner,
                    x.template At<kDepthContiguous>(min(line, last), exists ? depth : 0), exists);
    }
  } else {
    for (int at = threadIdx.x; at < Shared::kInner * Shared::kOuter; at += T::kThreads) {
      const int outer = at / Shared::kInner, inner = at % Shared::kInner;
      const int line = min(first + (kDepthContiguous ? outer : inner), x.lines - 1);
      const int depth = depth0 + (kDepthContiguous ? inner : outer);
      tile[outer * Shared::kPitch + inner] =
          depth < x.depth ? *x.template At<kDepthContiguous>(line, depth) : Storage(0.0f);
    }
  }
}

template <DType D, typename Use, bool kRowMajor>
using InputFragment = nvcuda::wmma::fragment<
    Use, WmmaShape<D>::kM, WmmaShape<D>::kN, WmmaShape<D>::kK, typename WmmaShape<D>::Multiplicand,
    std::conditional_t<kRowMajor, nvcuda::wmma::row_major, nvcuda::wmma::col_major>>;
template <DType D>
using SumFragment =
    nvcuda::wmma::fragment<nvcuda::wmma::accumulator, WmmaShape<D>::kM, WmmaShape<D>::kN,
                           WmmaShape<D>::kK, typename Element<D>::Compute>;

template <DType D, typename Fragment>
__device__ void LoadFragment(Fragment& fragment, const typename WmmaTile<D>::Storage* from,
                             unsigned pitch) {
  nvcuda::wmma::load_matrix_sync(fragment, from, pitch);
  if constexpr (D == DType::kTf32) {
#pragma unroll
    for (int i = 0; i < fragment.num_elements; ++i) fragment.x[i] = RoundToTf32(fragment.x[i]);
  }
}

// All products of a stage.
template <DType D, bool kAStoredKxM, bool kBStoredNxK>
__device__ void MultiplyStage(
    const typename WmmaTile<D>::Storage* a, const typename WmmaTile<D>::Storage* b, int row,
    int col, SumFragment<D> (&sums)[WmmaTile<D>::kFragmentsM][WmmaTile<D>::kFragmentsN]) {
  using T = WmmaTile<D>;
  using SharedA = SharedTile<D, !kAStoredKxM>;
  using SharedB = SharedTile<D, kBStoredNxK>;
  InputFragment<D, nvcuda::wmma::matrix_a, !kAStoredKxM> of_a;
  InputFragment<D, nvcuda::wmma::matrix_b, !kBStoredNxK> of_b[T::kFragmentsN];
#pragma unroll
  for (int l = 0; l < T::kDepth; l += T::kK) {
#pragma unroll
    for (int j = 0; j < T::kFragmentsN; ++j) {
      LoadFragment<D>(of_b[j], b + SharedB::At(col + j * T::kN, l), SharedB::kPitch);
    }
#pragma unroll
    for (int i = 0; i < T::kFragmentsM; ++i) {
      LoadFragment<D>(of_a, a + SharedA::At(row + i * T::kM, l), SharedA::kPitch);
#pragma unroll
      for (int j = 0; j < T::kFragmentsN; ++j) {
        nvcuda::wmma::mma_sync(sums[i][j], of_a, of_b[j], sums[i][j]);
      }
    }
  }
}

// A fragment goes through the warp's own scratch, because where a thread's elements are is not
// said.
template <DType D>
__device__ void StoreFragment(typename WmmaTile<D>::Compute* scratch, const SumFragment<D>& sums,
                              typename WmmaTile<D>::Storage* c, int m, int n, int row0, int col0) {
  using T = WmmaTile<D>;
  constexpr int kEach = T::kM * T::kN / 32;
  constexpr int kLanesARow = T::kN / kEach;
  __syncwarp();
  nvcuda::wmma::store_matrix_sync(scratch, sums, T::kResultPitch, nvcuda::wmma::mem_row_major);
  __syncwarp();
  const int lane = threadIdx.x % 32;
  const int down = lane / kLanesARow, right = lane % kLanesARow * kEach;
  const int row = row0 + down, col = col0 + right;
  if (row >= m || col >= n) return;
  __align__(16) typename T::Storage results[kEach];
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    results[i] = Element<D>::Store(scratch[down * T::kResultPitch + right + i]);
  }
  typename T::Storage* to = c + static_cast<std::int64_t>(row) * n + col;
  if (n % kEach == 0) {
    constexpr int kWords = kEach / T::kWord;
#pragma unroll
    for (int i = 0; i < kWords; ++i) {
      reinterpret_cast<uint4*>(to)[i] = reinterpret_cast<const uint4*>(results)[i];
    }
  } else {
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      if (col + i < n) to[i] = results[i];
    }
  }
}

template <DType D, bool kAStoredKxM, bool kBStoredNxK>
__global__ void __launch_bounds__(WmmaTile<D>::kThreads, WmmaTile<D>::kBlocks)
    WmmaKernel(WmmaOperand<typename WmmaTile<D>::Storage> a,
               WmmaOperand<typename WmmaTile<D>::Storage> b, typename WmmaTile<D>::Storage* c) {
  using T = WmmaTile<D>;
  using Storage = typename T::Storage;
  extern __shared__ __align__(128) unsigned char shared[];
  auto* ring = reinterpret_cast<Storage*>(shared);
  const TilePlace tile = PlaceOfTile<T::kBlock, T::kBlock>(a.lines, b.lines);
  const auto copy = [&](int step) {
    Storage* to = ring + step % T::kStages * 2 * T::kOperandElements;
    CopyTile<D, !kAStoredKxM>(to, a, tile.row, step * T::kDepth);
    CopyTile<D, kBStoredNxK>(to + T::kOperandElements, b, tile.col, step * T::kDepth);
  };
  const int steps = (a.depth - 1) / T::kDepth + 1;
  // A group a stage, an empty one past the end: the count to wait for stays the same.
  for (int step = 0; step < T::kStages - 1; ++step) {
    if (step < steps) copy(step);
    CommitCopies();
  }
  SumFragment<D> sums[T::kFragmentsM][T::kFragmentsN];
#pragma unroll
  for (auto& row_of_sums : sums) {
#pragma unroll
    for (auto& sum : row_of_sums) nvcuda::wmma::fill_fragment(sum, 0);
  }
  const int warp = threadIdx.x / 32;
  const int row = warp / T::kWarpsAcross * T::kWarpM, col = warp % T::kWarpsAcross * T::kWarpN;
  for (int step = 0; step < steps; ++step) {
    WaitForCopies<T::kStages - 2>();
    __syncthreads();  // this stage is there, and all are done with the one before it
    if (step + T::kStages - 1 < steps) copy(step + T::kStages - 1);
    CommitCopies();
    const Storage* from = ring + step % T::kStages * 2 * T::kOperandElements;
    MultiplyStage<D, kAStoredKxM, kBStoredNxK>(from, from + T::kOperandElements, row, col, sums);
  }
  WaitForCopies<0>();
  __syncthreads();  // the ring becomes the warps' scratch
  auto* scratch = reinterpret_cast<typename T::Compute*>(shared) + warp * T::kM * T::kResultPitch;
#pragma unroll
  for (int i = 0; i < T::kFragmentsM; ++i) {
#pragma unroll
    for (int j = 0; j < T::kFragmentsN; ++j) {
      StoreFragment<D>(scratch, sums[i][j], c, a.lines, b.lines, tile.row + row + i * T::kM,
                       tile.col + col + j * T::kN);
    }
  }
}

}  // namespace kbench::cuda
