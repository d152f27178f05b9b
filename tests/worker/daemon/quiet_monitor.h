// A device that answers what a test sets. For tests.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "proto/support/mutex.h"
#include "worker/device/device.h"

namespace kbench {

class QuietMonitor : public DeviceMonitor {
 public:
  v1::Telemetry Now() override {
    v1::Telemetry telemetry;
    telemetry.set_temperature_celsius(40);
    return telemetry;
  }
  void Begin() override {}
  v1::Telemetry End() override { return {}; }
  absl::Status Check() override { return check_; }
  void SetOwnProcesses(const std::vector<int>&) override {}
  std::vector<ForeignProcess> Foreign() override {
    ++looks_;
    return foreign_;
  }
  std::vector<ForeignProcess> LastForeign() override { return foreign_; }

  std::vector<ObservedFault> NewFaults() override {
    MutexLock lock(mutex_);
    return std::exchange(faults_, {});
  }
  DriverState Driver(std::string* message) override {
    MutexLock lock(mutex_);
    *message = "570.1 and 580.2";
    return driver_;
  }
  void Break(const std::string& kind, const std::string& message) {
    MutexLock lock(mutex_);
    faults_.push_back({kind, message});
  }
  void SetDriver(DriverState state) {
    MutexLock lock(mutex_);
    driver_ = state;
  }

  absl::Status check_ = absl::OkStatus();
  std::vector<ForeignProcess> foreign_;
  int looks_ = 0;  // times that the device was asked

 private:
  Mutex mutex_;
  std::vector<ObservedFault> faults_ ABSL_GUARDED_BY(mutex_);
  DriverState driver_ ABSL_GUARDED_BY(mutex_) = DriverState::kFine;
};

}  // namespace kbench
