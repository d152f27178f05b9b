// Every CUDA implementation of ours, one function a line of the table (table.cc). Thread-safe.
#pragma once

#include "kernels/implementation.h"

namespace kbench {

Implementation CudaNaiveNull();
Implementation CudaNaiveCopy();
Implementation CudaNaiveSum();
Implementation CudaShuffleSum();
Implementation CudaVectorizedSum();
Implementation CubSum();
Implementation CudaNaiveSoftmax();
Implementation CudaOnlineSoftmax();
Implementation CudaRegistersSoftmax();
Implementation CudaNaiveMatmul();
Implementation CudaTiledMatmul();
Implementation CudaRegisterTiledMatmul();
Implementation CudaWmmaMatmul();
Implementation CudaNaiveAttention();
Implementation CudaFlashFp32Attention();
Implementation CudaFlashMmaAttention();
Implementation CudaFlashWgmmaAttention();

Implementation CudaLaunchesChain();
Implementation CudaGraphChain();
Implementation CudaFusedChain();
Implementation CudaMmaMatmul();
Implementation CudaWgmmaMatmul();

// Hidden: the fixtures of the self-test.
Implementation CudaSelftestA();
Implementation CudaSelftestB();
Implementation CudaSelftestSlower();

}  // namespace kbench
