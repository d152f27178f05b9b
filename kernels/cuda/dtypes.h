// The dtypes that an implementation is compiled for: one list for the line of the table and for the
// choice of the kernel. Host code.
#pragma once

#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/cuda/device_instance.h"

namespace kbench::cuda {

template <DType... Compiled>
struct DTypes {
  static std::vector<DType> List() { return {Compiled...}; }

  // What `make(std::integral_constant<DType, D>{})` gives for the D that equals `dtype`, or
  // UNSUPPORTED.
  template <typename Make>
  static CreateResult Create(DType dtype, Make make) {
    std::optional<CreateResult> result;
    const auto try_one = [&](auto compiled) {
      if (dtype == decltype(compiled)::value) static_cast<void>(result.emplace(make(compiled)));
    };
    (try_one(std::integral_constant<DType, Compiled>{}), ...);
    if (result) return *std::move(result);
    return ImplementationError{ImplementationError::Kind::kUnsupported,
                               std::string("not compiled for ") + Info(dtype).name, 0};
  }
};

}  // namespace kbench::cuda
