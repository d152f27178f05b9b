// A loop compiled twice, for any x86-64 and for AVX2 + FMA + F16C, and chosen at run time: no
// illegal instruction on an old CPU, no slow loop on a new one. Private to the reference library.
#pragma once

#include "kernels/cpu_features.h"

namespace kbench::reference {

#if defined(__x86_64__) && defined(__GNUC__)
#define KB_AVX2 __attribute__((target("avx2,fma,f16c")))
inline bool HasAvx2() { return CpuHasAvx2(); }
#else
#define KB_AVX2
inline bool HasAvx2() { return false; }
#endif
// A body that both versions inline, so that each is vectorised for its own target.
#define KB_INLINE inline __attribute__((always_inline))

}  // namespace kbench::reference
