// Reductions over the threads of a block, in a fixed order: results repeat bit for bit. Device
// code; every thread of the block calls, and every thread gets the result.
#pragma once

namespace kbench::cuda {

struct Add {
  template <typename T>
  __device__ T operator()(T a, T b) const {
    return a + b;
  }
};

struct Larger {
  template <typename T>
  __device__ T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};

template <typename T, typename Combine>
__device__ T WarpReduce(T value, Combine combine) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value = combine(value, __shfl_xor_sync(0xffffffffu, value, offset));
  }
  return value;
}

// For blocks of whole warps, at most 32 of them.
template <typename T, typename Combine>
__device__ T BlockReduce(T value, Combine combine) {
  __shared__ T of_warp[32];
  value = WarpReduce(value, combine);
  __syncthreads();  // the array may still be read from the call before
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
  __syncthreads();
  T result = of_warp[0];
  for (unsigned warp = 1; warp < blockDim.x / 32; ++warp) result = combine(result, of_warp[warp]);
  return result;
}

}  // namespace kbench::cuda
