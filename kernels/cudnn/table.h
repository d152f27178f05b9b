// The cuDNN implementations; none in a build without cuDNN's headers. Immutable after its first
// call; thread-safe.
#pragma once

#include <string>
#include <vector>

#include "kernels/implementation.h"

namespace kbench {

const std::vector<Implementation>& CudnnTable();

// "9.19.0", or empty where no libcudnn.so.9 is found. Loads it; makes no CUDA context.
std::string CudnnVersion();

}  // namespace kbench
