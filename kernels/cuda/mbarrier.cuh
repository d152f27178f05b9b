// Barriers in shared memory and what goes with them on compute capability 9.0: clusters, named
// barriers, proxies and register budgets of warp groups. Device code; every function says which
// threads must call it. The instructions are those of the PTX manual, "Parallel Synchronization".
#pragma once

#include <cstdint>

namespace kbench::cuda {

// The address of shared memory as PTX wants it.
__device__ inline std::uint32_t SharedAddress(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

// One thread, before anybody uses the barrier: a phase ends after `arrivals` arrivals (and after
// the bytes announced). FenceBarrierInit and a barrier of the block or cluster must follow.
__device__ inline void BarrierInit(std::uint64_t* barrier, unsigned arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(SharedAddress(barrier)),
               "r"(arrivals)
               : "memory");
}

// Makes the initialisation visible to the cluster and to TMA. The thread that initialised.
__device__ inline void FenceBarrierInit() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ inline void BarrierArrive(std::uint64_t* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(SharedAddress(barrier)) : "memory");
}

// Arrives, and adds to the bytes that TMA must bring in this phase.
__device__ inline void BarrierArriveExpect(std::uint64_t* barrier, unsigned bytes) {
  asm volatile(
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(SharedAddress(barrier)),
      "r"(bytes)
      : "memory");
}

// Arrives at the same barrier of another block of the cluster (or of this one).
__device__ inline void BarrierArriveAt(std::uint64_t* barrier, unsigned block_of_cluster) {
  asm volatile(
      "{\n.reg .b32 there;\n"
      "mapa.shared::cluster.u32 there, %0, %1;\n"
      "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [there];\n}" ::"r"(
          SharedAddress(barrier)),
      "r"(block_of_cluster)
      : "memory");
}

// Whether the phase of this parity has ended; waits a little before it says no.
__device__ inline bool BarrierTryWait(std::uint64_t* barrier, unsigned parity) {
  unsigned done;
  asm volatile(
      "{\n.reg .pred p;\n"
      "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
      "selp.u32 %0, 1, 0, p;\n}"
      : "=r"(done)
      : "r"(SharedAddress(barrier)), "r"(parity)
      : "memory");
  return done != 0;
}

// Waits for the end of the phase of this parity. The phases of a fresh barrier are 0, 1, 0 ...; to
// wait for parity 1 on a fresh barrier returns at once, as if a phase had ended before.
__device__ inline void BarrierWait(std::uint64_t* barrier, unsigned parity) {
  while (!BarrierTryWait(barrier, parity)) {
  }
}

// The same for a barrier at which other blocks of the cluster arrive.
__device__ inline void BarrierWaitCluster(std::uint64_t* barrier, unsigned parity) {
  unsigned done = 0;
  while (done == 0) {
    asm volatile(
        "{\n.reg .pred p;\n"
        "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\n"
        "selp.u32 %0, 1, 0, p;\n}"
        : "=r"(done)
        : "r"(SharedAddress(barrier)), "r"(parity)
        : "memory");
  }
}

// Orders this thread's writes to shared memory before what TMA and wgmma read from it. Every
// writer, before the barrier that tells the one who issues the copy.
__device__ inline void FenceAsyncProxy() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// Barrier `id` (1 to 15; 0 is __syncthreads) for `threads` threads, a multiple of 32.
__device__ inline void NamedBarrierSync(unsigned id, unsigned threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
__device__ inline void NamedBarrierArrive(unsigned id, unsigned threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

__device__ inline unsigned BlockOfCluster() {
  unsigned rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

// All threads of the cluster.
__device__ inline void ClusterArrive() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
__device__ inline void ClusterWait() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
__device__ inline void ClusterSync() {
  ClusterArrive();
  ClusterWait();
}

// One thread of a converged warp.
__device__ inline bool ElectOne() {
  unsigned elected;
  asm volatile(
      "{\n.reg .pred p;\n"
      "elect.sync _|p, 0xffffffff;\n"
      "selp.u32 %0, 1, 0, p;\n}"
      : "=r"(elected));
  return elected != 0;
}

// All warps of a warp group (128 threads): takes or gives back registers. A kernel that uses these
// must have __launch_bounds__ with a minimum of blocks, or ptxas ignores them.
template <int kRegisters>
__device__ inline void TakeRegisters() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters>
__device__ inline void GiveRegisters() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

}  // namespace kbench::cuda
