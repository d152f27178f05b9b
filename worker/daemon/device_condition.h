// Whether the device is fit to measure, what its calibration said, and what its runners can do.
// Written by the case thread, read by the session. Thread-safe.
#pragma once

#include <cstdint>
#include <string>

#include "kbench/v1/device.pb.h"
#include "kbench/v1/worker_service.pb.h"
#include "proto/support/mutex.h"

namespace kbench {

class DeviceCondition {
 public:
  struct Snapshot {
    std::string state;    // CALIBRATING, READY, FAILED
    std::string message;  // FAILED: the step and what was measured
    v1::Calibration calibration;
    std::int64_t version = 0;  // 0 while no calibration is known; grows with each
    v1::Offer offer;
    std::int64_t offer_version = 0;  // 0 while none was set; grows with each
  };

  // READY when it passed, else FAILED.
  void Set(const v1::Calibration& calibration);
  // What the runners can do. While one is being started the device waits for it: CALIBRATING.
  void SetOffer(v1::Offer offer);
  Snapshot Get() const;

 private:
  mutable Mutex mutex_;
  Snapshot now_ ABSL_GUARDED_BY(mutex_) = {"CALIBRATING", "", {}, 0, {}, 0};
};

}  // namespace kbench
