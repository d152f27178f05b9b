#include "worker/daemon/device_condition.h"

#include <utility>

#include "spdlog/spdlog.h"
#include "worker/daemon/runner_hello.h"

namespace kbench {
namespace {

// In every heartbeat: a device that goes on breaking must not make it grow.
constexpr std::size_t kMostFaults = 16;

}  // namespace

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

void DeviceCondition::SetCanary(v1::CanaryState canary) {
  MutexLock lock(mutex_);
  now_.canary = std::move(canary);
}

void DeviceCondition::AddFault(const std::string& kind, const std::string& message) {
  spdlog::error("{}: {}", kind, message);
  MutexLock lock(mutex_);
  v1::DeviceFault& fault = now_.faults.emplace_back();
  fault.set_kind(kind);
  fault.set_message(message);
  fault.set_number(++now_.fault_count);
  if (now_.faults.size() > kMostFaults) now_.faults.erase(now_.faults.begin());
}

void DeviceCondition::SetMismatch(const std::string& message) {
  MutexLock lock(mutex_);
  mismatch_ = message;
}

DeviceCondition::Snapshot DeviceCondition::Get() const {
  MutexLock lock(mutex_);
  Snapshot snapshot = now_;
  if (!mismatch_.empty()) {
    snapshot.state = "OFFLINE";
    snapshot.reason = "DRIVER_MISMATCH";
    snapshot.message = mismatch_;
  }
  return snapshot;
}

}  // namespace kbench
