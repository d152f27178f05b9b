#include "kernels/cpu/threads.h"

#include <cblas.h>
#include <omp.h>

namespace kbench {

void UseOpenMpThreads(int threads) {
  // Never fewer than asked for: the same number each time keeps results the same bit for bit.
  omp_set_dynamic(0);
  omp_set_num_threads(threads < 1 ? 1 : threads);
}

int UseOpenBlasThreads(int threads) {
  if (threads < 1) threads = 1;
  if (openblas_get_num_threads() != threads) openblas_set_num_threads(threads);
  return openblas_get_num_threads();
}

}  // namespace kbench
