// The CPU implementations of every kernel. Immutable after its first call; thread-safe.
#pragma once

#include <vector>

#include "kernels/implementation.h"

namespace kbench {

const std::vector<Implementation>& CpuTable();

}  // namespace kbench
