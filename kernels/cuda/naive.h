// cuda/naive: what the plain kernels share. Simple code that is right for every size, with 64-bit
// indices; no tensor cores. Host code.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kernels/cuda/device_instance.h"

namespace kbench::cuda {

// The table line of a cuda/naive kernel.
inline Implementation NaiveImplementation(
    std::string kernel, std::string summary, std::vector<DType> dtypes,
    CreateResult (*create)(const Problem&, const OperandPointers&, const DeviceContext&),
    std::optional<std::string> (*unsupported)(const Problem&) = nullptr) {
  Implementation implementation;
  implementation.name = "cuda/naive";
  implementation.family = "cuda";
  implementation.kernel = std::move(kernel);
  implementation.summary = std::move(summary);
  implementation.dtypes = std::move(dtypes);
  implementation.default_choice = true;
  implementation.unsupported = unsupported;
  implementation.create = create;
  return implementation;
}

}  // namespace kbench::cuda
