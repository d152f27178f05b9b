// Whether the device is fit to measure, what its calibration and its canaries said, what broke on
// it, and what its runners can do. Written by the case thread and the session, read by both.
// Thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kbench/v1/device.pb.h"
#include "kbench/v1/worker_service.pb.h"
#include "proto/support/mutex.h"

namespace kbench {

class DeviceCondition {
 public:
  struct Snapshot {
    std::string state = "CALIBRATING";  // CALIBRATING, READY, FAILED, OFFLINE
    std::string message = {};           // FAILED: the step and what was measured
    std::string reason = {};            // OFFLINE: DRIVER_MISMATCH
    v1::Calibration calibration = {};
    std::int64_t version = 0;  // 0 while no calibration is known; grows with each
    v1::Offer offer = {};
    std::int64_t offer_version = 0;  // 0 while none was set; grows with each
    v1::CanaryState canary = {};
    std::vector<v1::DeviceFault> faults = {};  // the newest few
    std::int64_t fault_count = 0;              // of this boot: the newest one's number
  };

  // READY when it passed, else FAILED.
  void Set(const v1::Calibration& calibration);
  // What the runners can do. While one is being started the device waits for it: CALIBRATING.
  void SetOffer(v1::Offer offer);
  void SetCanary(v1::CanaryState canary);
  // `kind`: XID, ECC, WRONG_RESULTS. Logged here.
  void AddFault(const std::string& kind, const std::string& message);
  // While it is not empty the device is OFFLINE with DRIVER_MISMATCH, whatever else is known.
  void SetMismatch(const std::string& message);
  Snapshot Get() const;

 private:
  mutable Mutex mutex_;
  Snapshot now_ ABSL_GUARDED_BY(mutex_);
  std::string mismatch_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kbench
