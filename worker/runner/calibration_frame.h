// The engine's calibration as the worker gets it. Stateless; thread-safe.
#pragma once

#include "kbench/v1/device.pb.h"
#include "worker/engine/kbench_engine.h"

namespace kbench {

// Everything the engine measured; how long it took and the engine's version are the caller's.
void SetCalibration(const kb_calibration& from, v1::Calibration* to);

}  // namespace kbench
