// cublaslt matmul: cublasLtMatmul with the first algorithm of its heuristic for a workspace of
// 32 MiB. Used from one thread, with the device of the context current.
#pragma once

#include "kernels/implementation.h"

namespace kbench {

Implementation CublasLtMatmul();

}  // namespace kbench
