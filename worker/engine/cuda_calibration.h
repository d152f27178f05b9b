// The calibration of a GPU: what its events cost and resolve, whether known durations come back,
// which flush is enough, and what its memory does. Everything is timed behind a blocked stream, as
// samples are. Takes well under 2 s. Used from the engine's thread.
#pragma once

#include <cuda_runtime_api.h>

#include "worker/engine/cuda_timeline.h"
#include "worker/engine/error.h"

namespace kbench::engine {

// An error is a fault of the device or no memory; a step that failed is told in `out`. Leaves the
// timeline's flush as it was by default.
EngineError CalibrateCuda(CudaTimeline& timeline, cudaStream_t stream, kb_calibration* out);

}  // namespace kbench::engine
