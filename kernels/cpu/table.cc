#include "kernels/cpu/table.h"

#include "kernels/cpu/implementations.h"

namespace kbench {

const std::vector<Implementation>& CpuTable() {
  static const std::vector<Implementation> table = {
      CpuNaiveNull(),
      CpuNaiveCopy(),
      CpuNaiveSum(),
      CpuNaiveSoftmax(),
      CpuNaiveMatmul(),
      CpuNaiveAttention(),
      CpuNaiveChain(),
      CpuOnednnCopy(),
      CpuOnednnSum(),
      CpuOnednnSoftmax(),
      CpuOnednnSoftmaxViaFp32(),
      CpuOnednnMatmul(),
      CpuOnednnMatmulViaFp32(),
      CpuOpenBlasCopy(),
      CpuOpenBlasMatmul(),
      CpuOpenBlasMatmulViaFp32(),
      CpuSelftestA(),
      CpuSelftestB(),
      CpuSelftestSlower(),
  };
  return table;
}

}  // namespace kbench
