// TMA: boxes of tensors copied between global and shared memory by one thread (compute capability
// 9.0 and up). The tensor map comes from tensor_map.h as a `const __grid_constant__` parameter.
// Coordinates count elements, the innermost dimension first. Shared memory must be aligned to 128
// bytes, with a swizzle of 128 bytes to 1024. Device code.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "kernels/cuda/mbarrier.cuh"

namespace kbench::cuda {

// Hints for L2: what is read once, and what others read soon again.
constexpr std::uint64_t kEvictNormal = 0x1000000000000000;
constexpr std::uint64_t kEvictFirst = 0x12f0000000000000;
constexpr std::uint64_t kEvictLast = 0x14f0000000000000;

__device__ inline void PrefetchTensorMap(const CUtensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

// Global to shared; the bytes count at `barrier`. What lies outside the tensor arrives as zeros and
// counts too.
__device__ inline void TmaLoad(void* to, const CUtensorMap* map, std::uint64_t* barrier, int c0,
                               int c1, std::uint64_t hint = kEvictNormal) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
      "[%0], [%1, {%3, %4}], [%2], %5;" ::"r"(SharedAddress(to)),
      "l"(map), "r"(SharedAddress(barrier)), "r"(c0), "r"(c1), "l"(hint)
      : "memory");
}
__device__ inline void TmaLoad(void* to, const CUtensorMap* map, std::uint64_t* barrier, int c0,
                               int c1, int c2, std::uint64_t hint = kEvictNormal) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
      "[%0], [%1, {%3, %4, %5}], [%2], %6;" ::"r"(SharedAddress(to)),
      "l"(map), "r"(SharedAddress(barrier)), "r"(c0), "r"(c1), "r"(c2), "l"(hint)
      : "memory");
}
__device__ inline void TmaLoad(void* to, const CUtensorMap* map, std::uint64_t* barrier, int c0,
                               int c1, int c2, int c3, std::uint64_t hint = kEvictNormal) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
      "[%0], [%1, {%3, %4, %5, %6}], [%2], %7;" ::"r"(SharedAddress(to)),
      "l"(map), "r"(SharedAddress(barrier)), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "l"(hint)
      : "memory");
}

// The same to every block of the cluster whose bit is set in `blocks`: to the same place of its
// shared memory, counted at its own barrier.
__device__ inline void TmaLoadMulticast(void* to, const CUtensorMap* map, std::uint64_t* barrier,
                                        std::uint16_t blocks, int c0, int c1,
                                        std::uint64_t hint = kEvictNormal) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
      ".multicast::cluster.L2::cache_hint [%0], [%1, {%3, %4}], [%2], %5, %6;" ::"r"(
          SharedAddress(to)),
      "l"(map), "r"(SharedAddress(barrier)), "r"(c0), "r"(c1), "h"(blocks), "l"(hint)
      : "memory");
}
__device__ inline void TmaLoadMulticast(void* to, const CUtensorMap* map, std::uint64_t* barrier,
                                        std::uint16_t blocks, int c0, int c1, int c2,
                                        std::uint64_t hint = kEvictNormal) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes"
      ".multicast::cluster.L2::cache_hint [%0], [%1, {%3, %4, %5}], [%2], %6, %7;" ::"r"(
          SharedAddress(to)),
      "l"(map), "r"(SharedAddress(barrier)), "r"(c0), "r"(c1), "r"(c2), "h"(blocks), "l"(hint)
      : "memory");
}
__device__ inline void TmaLoadMulticast(void* to, const CUtensorMap* map, std::uint64_t* barrier,
                                        std::uint16_t blocks, int c0, int c1, int c2, int c3,
                                        std::uint64_t hint = kEvictNormal) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes"
      ".multicast::cluster.L2::cache_hint [%0], [%1, {%3, %4, %5, %6}], [%2], %7, %8;" ::"r"(
          SharedAddress(to)),
      "l"(map), "r"(SharedAddress(barrier)), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "h"(blocks),
      "l"(hint)
      : "memory");
}

// Shared to global; what lies outside the tensor is not written. Before: FenceAsyncProxy by every
// writer of `from` and a barrier. After: TmaCommit, and TmaWaitRead before `from` is written again.
__device__ inline void TmaStore(const CUtensorMap* map, const void* from, int c0, int c1) {
  asm volatile(
      "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];" ::"l"(map),
      "r"(SharedAddress(from)), "r"(c0), "r"(c1)
      : "memory");
}
__device__ inline void TmaStore(const CUtensorMap* map, const void* from, int c0, int c1, int c2) {
  asm volatile(
      "cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(map),
      "r"(SharedAddress(from)), "r"(c0), "r"(c1), "r"(c2)
      : "memory");
}
__device__ inline void TmaStore(const CUtensorMap* map, const void* from, int c0, int c1, int c2,
                                int c3) {
  asm volatile(
      "cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%0, {%2, %3, %4, %5}], [%1];" ::"l"(
          map),
      "r"(SharedAddress(from)), "r"(c0), "r"(c1), "r"(c2), "r"(c3)
      : "memory");
}

// The stores of this thread so far are one group.
__device__ inline void TmaCommit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

// All but the newest kPending groups of this thread have read their shared memory.
template <int kPending>
__device__ inline void TmaWaitRead() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kPending) : "memory");
}
// ... have reached global memory.
template <int kPending>
__device__ inline void TmaWait() {
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(kPending) : "memory");
}

}  // namespace kbench::cuda
