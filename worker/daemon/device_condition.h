// Whether the device is fit to measure, and what its calibration said. Written by the case thread,
// read by the session. Thread-safe.
#pragma once

#include <cstdint>
#include <string>

#include "kbench/v1/device.pb.h"
#include "proto/support/mutex.h"

namespace kbench {

class DeviceCondition {
 public:
  struct Snapshot {
    std::string state;    // CALIBRATING, READY, FAILED
    std::string message;  // FAILED: the step and what was measured
    v1::Calibration calibration;
    std::int64_t version = 0;  // 0 while no calibration is known; grows with each
  };

  // READY when it passed, else FAILED.
  void Set(const v1::Calibration& calibration);
  Snapshot Get() const;

 private:
  mutable Mutex mutex_;
  Snapshot now_ ABSL_GUARDED_BY(mutex_) = {"CALIBRATING", "", {}, 0};
};

}  // namespace kbench
