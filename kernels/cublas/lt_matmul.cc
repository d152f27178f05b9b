#include "kernels/cublas/lt_matmul.h"

#include "kernels/cublas/lt_instance.h"

namespace kbench {

Implementation CublasLtMatmul() {
  Implementation line = cublas::LtLine();
  line.name = line.family = "cublaslt";
  line.summary = "cublasLtMatmul, the first algorithm of its heuristic";
  line.create = [](const Problem& problem, const OperandPointers& operands, const DeviceContext&) {
    return cublas::CreateLt(problem, operands, 0);
  };
  return line;
}

}  // namespace kbench
