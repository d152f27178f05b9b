// Copies from global to shared memory that go around the registers (cp.async, compute capability
// 8.0 and up), in groups that a thread commits and waits for. Device code.
#pragma once

#include <cstdint>

namespace kbench::cuda {

// Copies kBytes (4, 8 or 16, and aligned to them), or writes zeros where `exists` is false; `from`
// must be a valid address either way.
template <int kBytes>
__device__ void CopyAsync(void* shared, const void* from, bool exists = true) {
  const auto to = static_cast<unsigned>(__cvta_generic_to_shared(shared));
  const int present = exists ? kBytes : 0;
  if constexpr (kBytes == 16) {  // around the first-level cache too
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(present)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(from), "n"(kBytes),
                 "r"(present)
                 : "memory");
  }
}

__device__ inline void CommitCopies() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Until all of this thread's groups but the youngest kLeft are there.
template <int kLeft>
__device__ void WaitForCopies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kLeft) : "memory");
}

}  // namespace kbench::cuda
