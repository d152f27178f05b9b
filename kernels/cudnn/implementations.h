// Every cuDNN implementation, one function a line of the table (table.cc). Thread-safe.
#pragma once

#include "kernels/implementation.h"

namespace kbench {

Implementation CudnnSum();
Implementation CudnnSoftmax();
Implementation CudnnAttention();

}  // namespace kbench
