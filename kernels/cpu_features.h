// What the CPU of this process can do, beyond the plain x86-64 that kbench is built for. By CPUID
// bits where a compiler's __builtin_cpu_supports has no word for it (clang 14: f16c, avx512fp16).
// All false elsewhere than on x86-64. Any thread.
#pragma once

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace kbench {

#if defined(__x86_64__)

namespace cpu_features_internal {

struct Registers {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

// All zero for a leaf that the CPU does not have.
inline Registers CpuId(unsigned leaf, unsigned subleaf) {
  Registers r;
  (void)__get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx);
  return r;
}

}  // namespace cpu_features_internal

// AVX2, FMA and F16C together (Haswell, Zen and later).
inline bool CpuHasAvx2() {
  static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                          (cpu_features_internal::CpuId(1, 0).ecx & bit_F16C) != 0;
  return has;
}

// Arithmetic on fp16 (AVX512-FP16: CPUID 7.0 EDX bit 23). "avx512f" also asks whether the system
// saves the registers.
inline bool CpuHasFp16() {
  static const bool has =
      __builtin_cpu_supports("avx512f") && (cpu_features_internal::CpuId(7, 0).edx >> 23 & 1) != 0;
  return has;
}

// Products of bf16 (AVX512-BF16: CPUID 7.1 EAX bit 5).
inline bool CpuHasBf16() {
  static const bool has =
      __builtin_cpu_supports("avx512f") && (cpu_features_internal::CpuId(7, 1).eax >> 5 & 1) != 0;
  return has;
}

#else

inline bool CpuHasAvx2() { return false; }
inline bool CpuHasFp16() { return false; }
inline bool CpuHasBf16() { return false; }

#endif

}  // namespace kbench
