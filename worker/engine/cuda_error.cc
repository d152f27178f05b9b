#include "worker/engine/cuda_error.h"

namespace kbench::engine {

EngineError FromCuda(cudaError_t error, const std::string& doing) {
  if (error == cudaSuccess) return {};
  (void)cudaGetLastError();  // an error that is not sticky is forgotten by reading it
  const cudaError_t still = cudaDeviceSynchronize();
  EngineError out;
  if (still != cudaSuccess) {
    out.code = KB_DEVICE_ERROR;
    error = still;
  } else if (error == cudaErrorMemoryAllocation) {
    out.code = KB_OUT_OF_MEMORY;
  } else {
    out.code = KB_IO_ERROR;
  }
  out.message = std::string("CUDA, while ") + doing + ": " + cudaGetErrorString(error) + " (" +
                cudaGetErrorName(error) + ")";
  return out;
}

}  // namespace kbench::engine
