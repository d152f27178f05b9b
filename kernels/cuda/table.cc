#include "kernels/cuda/table.h"

#include "kernels/cuda/implementations.h"

namespace kbench {

const std::vector<Implementation>& CudaTable() {
  static const std::vector<Implementation> table = {
      CudaNaiveNull(),           CudaNaiveCopy(),          CudaNaiveSum(),
      CudaShuffleSum(),          CudaVectorizedSum(),      CubSum(),
      CudaNaiveSoftmax(),        CudaOnlineSoftmax(),      CudaRegistersSoftmax(),
      CudaNaiveMatmul(),         CudaTiledMatmul(),        CudaRegisterTiledMatmul(),
      CudaWmmaMatmul(),          CudaMmaMatmul(),          CudaWgmmaMatmul(),
      CudaNaiveAttention(),      CudaFlashFp32Attention(), CudaFlashMmaAttention(),
      CudaFlashWgmmaAttention(), CudaLaunchesChain(),      CudaGraphChain(),
      CudaFusedChain(),          CudaSelftestA(),          CudaSelftestB(),
      CudaSelftestSlower(),
  };
  return table;
}

}  // namespace kbench
