#include "kernels/cublas/table.h"

#include "kernels/cublas/lt_matmul.h"
#include "kernels/cublas/lt_tuned_matmul.h"
#include "kernels/cublas/matmul.h"

namespace kbench {

const std::vector<Implementation>& CublasTable() {
  static const std::vector<Implementation> table = {CublasMatmul(), CublasLtMatmul(),
                                                    CublasLtTunedMatmul()};
  return table;
}

}  // namespace kbench
