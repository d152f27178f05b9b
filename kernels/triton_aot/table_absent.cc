#include "kernels/triton_aot/table.h"

namespace kbench {

const std::vector<Implementation>& TritonAotTable() {
  static const std::vector<Implementation> none;
  return none;
}

std::string TritonAotVersion() { return ""; }

}  // namespace kbench
