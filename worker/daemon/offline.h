// What stands in for a device that cannot be reached because its driver does not fit its library
// (device/driver_versions.h): the worker connects all the same, so that everybody sees why the jobs
// wait and results that lie in the spool are sent. Each is used as what it stands in for.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "worker/daemon/attempt_runner.h"
#include "worker/device/device.h"

namespace kbench {

// Says kMismatch until the device can be opened, or a new process could open it: then kStale.
class OfflineMonitor final : public DeviceMonitor {
 public:
  // `open` tries; `versions` reads what is on the disk and in the kernel. `message`: of the start.
  OfflineMonitor(std::function<absl::Status()> open, std::function<DriverVersions()> versions,
                 std::string message);
  v1::Telemetry Now() override { return {}; }
  void Begin() override {}
  v1::Telemetry End() override { return {}; }
  absl::Status Check() override { return absl::OkStatus(); }
  void SetOwnProcesses(const std::vector<int>& /*pids*/) override {}
  DriverState Driver(std::string* message) override;

 private:
  const std::function<absl::Status()> open_;
  const std::function<DriverVersions()> versions_;
  const std::string message_;
  const bool differed_;  // at the start, by the files: then their agreement is the end
};

// Takes no case: one that arrives all the same goes back to the queue.
class OfflineRunner final : public AttemptRunner {
 public:
  AttemptOutcome Run(const v1::Assign& assign, const CancelToken& cancel,
                     const CaseDriver::ProgressFn& progress) override;
  void Settle() override {}
};

}  // namespace kbench
