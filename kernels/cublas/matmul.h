// cublas matmul: cublasGemmEx with the algorithm cuBLAS's own heuristic takes, as frameworks call
// it. Used from one thread, with the device of the context current.
#pragma once

#include "kernels/implementation.h"

namespace kbench {

Implementation CublasMatmul();

}  // namespace kbench
