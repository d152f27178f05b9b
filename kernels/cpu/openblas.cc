#include "kernels/cpu/openblas.h"

#include <cblas.h>

#include <limits>

namespace kbench {

std::optional<std::string> OpenBlasExtentError(const Problem& problem) {
  constexpr std::int64_t kMost = std::numeric_limits<blasint>::max();
  for (const auto& [name, extent] : problem.shape.dims) {
    if (extent > kMost) {
      return name + "=" + std::to_string(extent) + " is more than OpenBLAS counts to: at most " +
             std::to_string(kMost);
    }
  }
  return std::nullopt;
}

ConfigurationMap OpenBlasConfiguration(int threads) {
  return {{"library", openblas_get_config()},
          {"cpu_kernels", openblas_get_corename()},
          {"threads", std::to_string(threads)}};
}

}  // namespace kbench
