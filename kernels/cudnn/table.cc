#include "kernels/cudnn/table.h"

#include "kernels/cudnn/implementations.h"
#include "kernels/cudnn/library.h"

namespace kbench {

const std::vector<Implementation>& CudnnTable() {
  static const std::vector<Implementation> table = {CudnnSum(), CudnnSoftmax(), CudnnAttention()};
  return table;
}

std::string CudnnVersion() { return cudnn::TheLibrary().version; }

}  // namespace kbench
