// How the block that ends last finishes the work of a grid within the same launch. Device code.
#pragma once

namespace kbench::cuda {

// Whether this block is the last one to come here. Blocks before it have written what they wrote
// before. Leaves the counter at 0, for the next launch. Every thread of the block calls.
__device__ inline bool IsLastBlock(unsigned* arrived) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    __threadfence();
    last = atomicInc(arrived, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last) __threadfence();
  return last;
}

}  // namespace kbench::cuda
