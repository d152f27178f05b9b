// cublaslt-tuned matmul: cublasLtMatmul with the fastest of the algorithms that its heuristic
// proposes, as those who ship products tune it. Used from one thread, with the device of the
// context current.
#pragma once

#include "kernels/implementation.h"

namespace kbench {

Implementation CublasLtTunedMatmul();

}  // namespace kbench
