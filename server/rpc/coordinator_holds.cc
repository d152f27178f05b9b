// Holds: jobs that lend a device out. The worker ends a hold at its time; here it ends when its
// client says so, or says nothing for too long.
#include <algorithm>
#include <future>

#include "fmt/format.h"
#include "proto/support/clock.h"
#include "proto/support/error.h"
#include "proto/support/ids.h"
#include "server/rpc/coordinator.h"
#include "server/rpc/queue_words.h"
#include "server/rpc/validate_hold.h"
#include "spdlog/spdlog.h"

namespace kbench::server {

using kbench::v1::Job;
using kbench::v1::KeepHoldResponse;

namespace {

absl::Status NotHeld(const std::string& job, const std::string& why, const char* reason) {
  return MakeError(absl::StatusCode::kFailedPrecondition, "job " + JobId(job) + " " + why,
                   {.reason = reason, .metadata = {{"job", job}}});
}

}  // namespace

void Coordinator::HoldAssigned(const std::string& job) {
  hold_lapses_[job] = Now() + options_.hold_lapse_seconds;
}

absl::Status Coordinator::CheckHeld(const std::string& job) {
  const auto active = active_.find(job);
  if (active == active_.end()) return NotHeld(job, "has ended", "NOT_HELD");
  if (!active->second.spec->has_hold()) {
    return NotHeld(job, "measures: it is no hold", "NOT_HELD");
  }
  if (scheduler_.HoldIsRunning(job)) return absl::OkStatus();
  return NotHeld(job, "still waits for its device", "NOT_HELD");
}

absl::StatusOr<KeepHoldResponse> Coordinator::KeepHold(const std::string& name) {
  const std::string job = JobName(name);
  KB_RETURN_IF_ERROR(store_.GetJob(job, false).status());
  MutexLock lock(mutex_);
  KB_RETURN_IF_ERROR(CheckServing());
  KB_RETURN_IF_ERROR(CheckHeld(job));
  const scheduler::Case& item = scheduler_.FindJob(job)->cases.front();
  const kbench::v1::Device* device = devices_.OfWorker(item.worker);
  // The worker has said that the hold has begun: before, a runner may still be on the device.
  // Where the worker is away (also after a restart), what has begun goes on.
  const bool begun = item.held && (device == nullptr || device->state() != "BUSY");
  if (!begun) return NotHeld(job, "is about to begin", "NOT_HELD");
  const kbench::v1::Hold& hold = active_.at(job).spec->hold();
  const double end = item.started_at + ToSeconds(hold.duration());
  KeepHoldResponse response;
  *response.mutable_end_time() = ToTimestamp(std::llround(end * 1e6));
  *response.mutable_left() = ToDuration(std::max(0.0, end - Now()));
  if (hold.attached()) {
    hold_lapses_[job] = Now() + options_.hold_lapse_seconds;
    *response.mutable_lapse_after() = ToDuration(options_.hold_lapse_seconds);
  }
  return response;
}

absl::StatusOr<Job> Coordinator::EndHold(const std::string& name, int exit_code) {
  const std::string job = JobName(name);
  KB_ASSIGN_OR_RETURN(Job known, store_.GetJob(job, false));
  std::promise<absl::Status> promise;
  {
    MutexLock lock(mutex_);
    KB_RETURN_IF_ERROR(CheckServing());
    const bool ended = known.spec().has_hold() && active_.count(job) == 0;
    if (!ended) {
      KB_RETURN_IF_ERROR(CheckHeld(job));
      if (!known.spec().hold().command().empty()) {
        return NotHeld(job, "ends with the command that its worker runs; cancel it to end both",
                       "HOLD_HAS_COMMAND");
      }
      const double seconds = Now() - scheduler_.FindJob(job)->cases.front().started_at;
      Step step;
      step.done = [&promise](const absl::Status& status) { promise.set_value(status); };
      step.batch.hold_ends.push_back({job, exit_code});
      AddEffects(scheduler_.EndHold(Now(), job, "HOLD_ENDED",
                                    fmt::format("held for {}; its client ended it with exit code "
                                                "{}",
                                                DurationText(seconds), exit_code)),
                 nullptr, step);
      Commit(std::move(step));
    } else {
      promise.set_value(absl::OkStatus());
    }
  }
  KB_RETURN_IF_ERROR(promise.get_future().get());
  return Get(job);
}

void Coordinator::LapseHolds() {
  std::vector<std::string> lapsed;
  for (const auto& [job, at] : hold_lapses_) {
    if (at <= Now()) lapsed.push_back(job);
  }
  for (const std::string& job : lapsed) {
    hold_lapses_.erase(job);
    const auto active = active_.find(job);
    if (active == active_.end() || !active->second.spec->hold().attached() ||
        !scheduler_.HoldIsRunning(job)) {
      continue;
    }
    const std::string message = fmt::format("its client has not been heard of for {}",
                                            DurationText(options_.hold_lapse_seconds));
    spdlog::warn("the hold {} is over: {}", job, message);
    // A command is ended first, and what it printed is kept.
    CommitEffects(active->second.spec->hold().command().empty()
                      ? scheduler_.EndHold(Now(), job, "HOLD_LAPSED", message)
                      : scheduler_.CancelJob(Now(), job));
  }
}

void Coordinator::FillPlace(kbench::v1::CaseStatus& status) {
  if (status.state() != kbench::v1::JOB_STATE_RUNNING) return;
  const kbench::v1::Device* device = devices_.Find(status.device());
  if (device == nullptr) return;
  status.set_hostname(device->hostname());
  status.set_device_uuid(device->uuid());
}

}  // namespace kbench::server
