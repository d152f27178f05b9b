// A kernel's parameters by its binary's own word, against those that the index says. Pure functions
// over bytes that may be anything. Thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/catalog/expected.h"
#include "kernels/triton_aot/index.h"

namespace kbench::aot {

struct Parameter {
  int offset = 0;
  int bytes = 0;
  friend bool operator==(const Parameter&, const Parameter&) = default;
};

// In their order; or why they cannot be read: no such kernel in there, no ELF file.
Expected<std::vector<Parameter>, std::string> ParametersOf(std::string_view cubin,
                                                           std::string_view function);

// Bytes that the argument has as a parameter.
int ParameterBytes(const Argument& argument);

// Nothing, or how the binary of the launch and the index disagree about its parameters.
std::optional<std::string> ParametersDisagree(const Index& index, const Launch& launch);

}  // namespace kbench::aot
