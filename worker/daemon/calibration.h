// What the stopwatch costs and what the device can do, measured through a runner when the worker
// starts. Called from the case thread while nothing else runs on the device.
#pragma once

#include <optional>
#include <string>

#include "kbench/v1/device.pb.h"
#include "worker/daemon/cancel.h"
#include "worker/daemon/runner_pool.h"
#include "worker/device/device.h"

namespace kbench {

// All outlive the call.
struct CalibrationSetup {
  RunnerPool* pool = nullptr;
  DeviceMonitor* monitor = nullptr;
  const DeviceFacts* facts = nullptr;
  std::string scratch_dir;
  double watchdog_seconds = 60;  // of the request `calibrate`
};

// The step that fails when the device computes wrongly.
inline constexpr char kWrongResultsStep[] = "results";

// Not passed: failed_step and message say where and what. Nothing when it was cancelled. Ends
// within minutes whatever the runner does.
std::optional<v1::Calibration> Calibrate(const CalibrationSetup& setup, const CancelToken& cancel);

}  // namespace kbench
