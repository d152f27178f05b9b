// Copies from global to shared memory that go around the registers (cp.async, compute capability
// 8.0 and up), in groups that a thread commits and waits for. Device code.
#pragma once

#include <cstdint>

namespace kbench::cuda {

// Copies kBytes (4, 8 or 16, and aligned to them) to a shared address (SharedAddress() of
// mbarrier.cuh); only the first `present` bytes are read, the rest is filled with zeros. 16 bytes
// go around the first-level cache too.
template <int kBytes>
__device__ inline void CopyAsync(std::uint32_t to, const void* from, int present = kBytes) {
  static_assert(kBytes == 4 || kBytes == 8 || kBytes == 16);
  if constexpr (kBytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(present)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(from), "n"(kBytes),
                 "r"(present)
                 : "memory");
  }
}

// 16 bytes, or nothing at all. A predicate, not a branch, which would keep the assembler from
// mixing copies with what is computed around them.
__device__ inline void CopyAsyncIf(std::uint32_t to, const void* from, bool exists) {
  asm volatile(
      "{\n.reg .pred p;\n"
      "setp.ne.b32 p, %2, 0;\n"
      "@p cp.async.cg.shared.global [%0], [%1], 16;\n}" ::"r"(to),
      "l"(from), "r"(static_cast<int>(exists))
      : "memory");
}

// To a pointer, all or zeros; `from` must be a valid address either way.
template <int kBytes>
__device__ inline void CopyAsync(void* shared, const void* from, bool exists = true) {
  CopyAsync<kBytes>(static_cast<std::uint32_t>(__cvta_generic_to_shared(shared)), from,
                    exists ? kBytes : 0);
}

__device__ inline void CommitCopies() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Until all of this thread's groups but the youngest kLeft are there; a barrier tells the others.
template <int kLeft>
__device__ inline void WaitForCopies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kLeft) : "memory");
}

}  // namespace kbench::cuda
