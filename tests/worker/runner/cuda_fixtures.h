// CUDA implementations that misbehave. Linked into kbench-runner-cuda-fixtures only. All are fp32
// and of the kernel sum.
#pragma once

#include <vector>

#include "kernels/implementation.h"

namespace kbench {

const std::vector<Implementation>& CudaFixtureTable();

}  // namespace kbench
