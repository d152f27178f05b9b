// Every CPU implementation, one function a line of the table (table.cc). Pure; thread-safe.
#pragma once

#include "kernels/implementation.h"

namespace kbench {

Implementation CpuNaiveNull();
Implementation CpuNaiveCopy();
Implementation CpuNaiveSum();
Implementation CpuNaiveSoftmax();
Implementation CpuNaiveMatmul();
Implementation CpuNaiveAttention();
Implementation CpuNaiveChain();

Implementation CpuOnednnCopy();
Implementation CpuOnednnSum();
Implementation CpuOnednnSoftmax();
Implementation CpuOnednnSoftmaxViaFp32();
Implementation CpuOnednnMatmul();
Implementation CpuOnednnMatmulViaFp32();

Implementation CpuOpenBlasCopy();
Implementation CpuOpenBlasMatmul();
Implementation CpuOpenBlasMatmulViaFp32();

// Hidden: the fixtures of the self-test.
Implementation CpuSelftestA();
Implementation CpuSelftestB();
Implementation CpuSelftestSlower();

}  // namespace kbench
