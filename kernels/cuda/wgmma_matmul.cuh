// The kernel of cuda/wgmma matmul: what wgmma_matmul.cu chooses between. Device code for sm_90a;
// other architectures compile it to nothing.
//
// A block stays for many tiles of C. A thread of the last warp group brings stages (128 bytes of
// depth of A and B) into a ring of shared memory with TMA; two warp groups multiply, either the
// halves of one tile (wgmma_cooperative.cuh) or tiles in turn (wgmma_pingpong.cuh). Two blocks of a
// cluster work on neighbouring tiles and share an operand: each loads half of it for both.
//
// The ideas are published: CUTLASS (warp specialisation, multicast, ping-pong), fast.cu (the tile's
// shape, TMA stores behind the products), DeepGEMM (arrivals by warp). README.md has what was
// tried. Where clusters share tiles, it is Stream-K's idea (Osama and others, 2023).
#pragma once

#include <type_traits>

#include "kernels/cuda/wgmma_cooperative.cuh"
#include "kernels/cuda/wgmma_pingpong.cuh"

namespace kbench::cuda {
namespace wgmma_matmul {

template <DType D, typename Tile, bool kMnA, bool kMnB>
using ConsumerOf = std::conditional_t<Tile::kPingpong, PingpongConsumer<D, Tile, kMnA, kMnB>,
                                      CooperativeConsumer<D, Tile, kMnA, kMnB>>;

}  // namespace wgmma_matmul

// Steps of 128 bytes of depth; the grid holds whole clusters.
template <DType D, typename Tile, bool kMnA, bool kMnB>
__global__ void __launch_bounds__(Tile::kThreads, Tile::kBlocks)
    WgmmaMatmulKernel(const __grid_constant__ CUtensorMap map_a,
                      const __grid_constant__ CUtensorMap map_b,
                      const __grid_constant__ CUtensorMap map_c,
                      const __grid_constant__ TileWork work) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  using namespace wgmma_matmul;
  extern __shared__ __align__(1024) unsigned char memory[];
  constexpr int kDepth = 128 / static_cast<int>(sizeof(typename Element<D>::Storage));
  const Shared<Tile> shared(memory);
  if (threadIdx.x == 0) {
    PrefetchTensorMap(&map_a);
    PrefetchTensorMap(&map_b);
    PrefetchTensorMap(&map_c);
    for (int i = 0; i < Tile::kStages; ++i) {
      BarrierInit(&shared.full[i], 1);
      BarrierInit(&shared.empty[i], 4 * Tile::kConsumersOfStage * Tile::kClusterBlocks);
    }
    FenceBarrierInit();
  }
  if constexpr (Tile::kClusterBlocks > 1) {
    ClusterSync();
  } else {
    __syncthreads();
  }
  // The shuffle tells the compiler that warps agree: what follows from it, up to the descriptors of
  // the operands, then lives in uniform registers.
  const unsigned group = __shfl_sync(0xffffffffu, threadIdx.x / 128, 0);
  if (group == Tile::kConsumers) {
    if constexpr (Tile::kBlocks == 1) GiveRegisters<Tile::kProducerRegisters>();
    if (threadIdx.x / 32 == 4 * Tile::kConsumers && ElectOne()) {
      Produce<Tile, kDepth, kMnA, kMnB>(shared, &map_a, &map_b, work);
    }
    __syncwarp();
  } else {
    if constexpr (Tile::kBlocks == 1) TakeRegisters<Tile::kConsumerRegisters>();
    ConsumerOf<D, Tile, kMnA, kMnB>(shared, &map_c, group).Run(work);
  }
  // No block may leave while the other still counts on its barriers.
  if constexpr (Tile::kClusterBlocks > 1) ClusterSync();
#endif
}

}  // namespace kbench::cuda
