// Triton's kernels compiled ahead of time, launched from C++; none in a build that found no Triton.
// Immutable after its first call; thread-safe.
#pragma once

#include <string>
#include <vector>

#include "kernels/implementation.h"

namespace kbench {

const std::vector<Implementation>& TritonAotTable();

// Of the Triton that compiled them, "3.6.0"; empty where nothing is compiled.
std::string TritonAotVersion();

}  // namespace kbench
