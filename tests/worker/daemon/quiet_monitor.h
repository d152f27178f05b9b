// A device that answers what a test sets. For tests.
#pragma once

#include <vector>

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

  absl::Status check_ = absl::OkStatus();
  std::vector<ForeignProcess> foreign_;
  int looks_ = 0;  // times that the device was asked
};

}  // namespace kbench
