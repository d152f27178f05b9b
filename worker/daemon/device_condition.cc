#include "worker/daemon/device_condition.h"

namespace kbench {

void DeviceCondition::Set(const v1::Calibration& calibration) {
  MutexLock lock(mutex_);
  now_.state = calibration.passed() ? "READY" : "FAILED";
  now_.message.clear();
  if (!calibration.passed()) {
    now_.message =
        "calibration failed at " + calibration.failed_step() + ": " + calibration.message();
  }
  now_.calibration = calibration;
  ++now_.version;
}

DeviceCondition::Snapshot DeviceCondition::Get() const {
  MutexLock lock(mutex_);
  return now_;
}

}  // namespace kbench
