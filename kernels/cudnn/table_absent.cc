// The table of a build without cuDNN's headers (cmake/KbenchCuda.cmake says what they are).
#include "kernels/cudnn/table.h"

namespace kbench {

const std::vector<Implementation>& CudnnTable() {
  static const std::vector<Implementation> table;
  return table;
}

std::string CudnnVersion() { return ""; }

}  // namespace kbench
