// For the matmul kernels that count rows, columns and depths in 32 bits. Host code; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kernels/catalog/problem.h"

namespace kbench::cuda {

// Why a problem is too long for 32 bits, a tile past the end included, or nothing.
inline std::optional<std::string> TooLongFor32Bits(const Problem& problem) {
  constexpr std::int64_t kMost = (std::int64_t{1} << 31) - 1024;
  for (const auto& [name, extent] : problem.shape.dims) {
    if (extent > kMost) {
      return name + "=" + std::to_string(extent) + " is too long: at most " + std::to_string(kMost);
    }
  }
  return std::nullopt;
}

}  // namespace kbench::cuda
