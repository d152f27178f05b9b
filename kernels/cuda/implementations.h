// Every CUDA implementation of ours, one function a line of the table (table.cc). Thread-safe.
#pragma once

#include "kernels/implementation.h"

namespace kbench {

Implementation CudaNaiveNull();
Implementation CudaNaiveCopy();
Implementation CudaNaiveSum();
Implementation CudaNaiveSoftmax();
Implementation CudaNaiveMatmul();
Implementation CudaNaiveAttention();
Implementation CudaFlashFp32Attention();
Implementation CudaFlashMmaAttention();
Implementation CudaFlashWgmmaAttention();

// Hidden: the fixtures of the self-test.
Implementation CudaSelftestA();
Implementation CudaSelftestB();
Implementation CudaSelftestSlower();

}  // namespace kbench
