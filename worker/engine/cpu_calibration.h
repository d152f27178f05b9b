// The calibration of a CPU: the steady clock against itself, the eviction, and the memory's speed
// with the engine's threads. Takes at most about half a second. Used from the engine's thread.
#pragma once

#include "worker/engine/cpu_timeline.h"
#include "worker/engine/error.h"

namespace kbench::engine {

// `threads`: how many share a pass over memory. An error is a fault of ours (no memory); a step
// that failed is told in `out`.
EngineError CalibrateCpu(CpuTimeline& timeline, int threads, kb_calibration* out);

}  // namespace kbench::engine
