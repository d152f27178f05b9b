#include "worker/daemon/offline.h"

#include <utility>

namespace kbench {
namespace {

bool Differ(const DriverVersions& versions) {
  return versions.known() && versions.kernel != versions.library;
}

}  // namespace

OfflineMonitor::OfflineMonitor(std::function<absl::Status()> open,
                               std::function<DriverVersions()> versions, std::string message)
    : open_(std::move(open)),
      versions_(std::move(versions)),
      message_(std::move(message)),
      differed_(Differ(versions_())) {}

DriverState OfflineMonitor::Driver(std::string* message) {
  const DriverVersions now = versions_();
  const bool agree = differed_ && now.known() && !Differ(now);
  const absl::Status opened = agree ? absl::OkStatus() : open_();
  if (opened.ok()) return DriverState::kStale;
  *message = IsDriverMismatch(opened) ? std::string(opened.message()) : message_;
  return DriverState::kMismatch;
}

AttemptOutcome OfflineRunner::Run(const v1::Assign& assign, const CancelToken& /*cancel*/,
                                  const CaseDriver::ProgressFn& /*progress*/) {
  AttemptOutcome outcome;
  *outcome.result.mutable_id() = assign.id();
  outcome.result.set_infra_error("the device is OFFLINE: its driver does not fit its library");
  return outcome;
}

}  // namespace kbench
