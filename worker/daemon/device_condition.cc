#include "worker/daemon/device_condition.h"

#include <utility>

#include "worker/daemon/runner_hello.h"

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

void DeviceCondition::SetOffer(v1::Offer offer) {
  std::string waits_for;
  for (const v1::AbsentFramework& one : offer.absent()) {
    if (one.starting()) waits_for += (waits_for.empty() ? "" : ", ") + NameOf(one);
  }
  MutexLock lock(mutex_);
  if (now_.version == 0) {
    now_.message = waits_for.empty() ? "" : "waits for Python runners to start: " + waits_for;
  }
  now_.offer = std::move(offer);
  ++now_.offer_version;
}

DeviceCondition::Snapshot DeviceCondition::Get() const {
  MutexLock lock(mutex_);
  return now_;
}

}  // namespace kbench
