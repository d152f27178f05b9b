// CUDA's errors in the engine's words. Used from the engine's thread.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "worker/engine/error.h"

namespace kbench::engine {

// None for cudaSuccess. Out of memory stays KB_OUT_OF_MEMORY; an error that survives a
// synchronisation has poisoned the context (KB_DEVICE_ERROR); any other left the device sound
// (KB_IO_ERROR). `doing`: "allocating", "reading the output back".
EngineError FromCuda(cudaError_t error, const std::string& doing);

}  // namespace kbench::engine
