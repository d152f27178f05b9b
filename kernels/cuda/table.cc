#include "kernels/cuda/table.h"

#include "kernels/cuda/implementations.h"

namespace kbench {

const std::vector<Implementation>& CudaTable() {
  static const std::vector<Implementation> table = {
      CudaNaiveNull(),          CudaNaiveCopy(),         CudaNaiveSum(),
      CudaNaiveSoftmax(),       CudaNaiveMatmul(),       CudaNaiveAttention(),
      CudaFlashFp32Attention(), CudaFlashMmaAttention(), CudaFlashWgmmaAttention(),
      CudaSelftestA(),          CudaSelftestB(),         CudaSelftestSlower(),
  };
  return table;
}

}  // namespace kbench
