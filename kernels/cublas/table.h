// The cuBLAS implementations. Immutable after its first call; thread-safe.
#pragma once

#include <vector>

#include "kernels/implementation.h"

namespace kbench {

const std::vector<Implementation>& CublasTable();

}  // namespace kbench
