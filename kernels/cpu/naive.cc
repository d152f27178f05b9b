#include "kernels/cpu/naive.h"

namespace kbench {

Implementation NaiveImplementation(std::string kernel, std::string summary,
                                   std::vector<DType> dtypes,
                                   CreateResult (*create)(const Problem&, const OperandPointers&,
                                                          const DeviceContext&)) {
  return {.name = "cpu/naive",
          .family = "cpu",
          .kernel = std::move(kernel),
          .summary = std::move(summary),
          .dtypes = std::move(dtypes),
          .default_choice = true,
          .unsupported = nullptr,
          .create = create};
}

}  // namespace kbench
