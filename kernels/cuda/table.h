// The CUDA implementations of every kernel. Immutable after its first call; thread-safe.
#pragma once

#include <vector>

#include "kernels/implementation.h"

namespace kbench {

const std::vector<Implementation>& CudaTable();

}  // namespace kbench
