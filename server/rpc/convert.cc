#include "server/rpc/convert.h"

#include <algorithm>
#include <cmath>

#include "proto/support/clock.h"
#include "server/rpc/poison.h"
#include "server/rpc/selection.h"
#include "server/store/store.h"

namespace kbench::server {

using kbench::v1::AttemptId;
using kbench::v1::CaseStatus;

CaseStatus ToCaseStatus(const scheduler::Case& item, const kbench::v1::CaseSpec& spec) {
  CaseStatus status;
  status.set_index(item.ref.index);
  *status.mutable_spec() = spec;
  status.set_state(store::ToJobState(item.state));
  status.set_reason(item.reason);
  status.set_message(item.message);
  status.set_attempt(item.attempts);
  status.set_device(item.device);
  status.set_worker(item.worker);
  status.set_results_of(item.results_of);
  if (item.started_at > 0) {
    *status.mutable_start_time() = ToTimestamp(std::llround(item.started_at * 1e6));
  }
  if (item.ended_at > 0) {
    *status.mutable_end_time() = ToTimestamp(std::llround(item.ended_at * 1e6));
  }
  return status;
}

AttemptId ToAttemptId(const scheduler::CaseRef& ref, int attempt, std::int64_t epoch) {
  AttemptId id;
  id.set_job(ref.job);
  id.set_case_index(ref.index);
  id.set_attempt(attempt);
  id.set_epoch(epoch);
  return id;
}

scheduler::Held ToHeld(const AttemptId& id, bool finished) {
  return {{id.job(), id.case_index()}, id.attempt(), id.epoch(), finished};
}

scheduler::PriorityClass ToPriorityClass(const std::string& name) {
  if (name == "ci") return scheduler::PriorityClass::kCi;
  return name == "batch" ? scheduler::PriorityClass::kBatch
                         : scheduler::PriorityClass::kInteractive;
}

void FillFromJob(const kbench::v1::Job& job, double created_at, scheduler::JobEntry& entry) {
  entry.owner = job.owner();
  entry.priority_class = ToPriorityClass(job.spec().priority_class());
  entry.submitted_at = created_at;
  entry.hold = job.spec().has_hold();
  for (scheduler::Case& item : entry.cases) {
    if (item.ref.index < job.spec().cases_size()) {
      item.need = NeedOf(job.spec().cases(item.ref.index));
      item.content = PoisonKey(job.spec(), item.ref.index);
    }
    if (entry.hold) {
      // As long as was asked for, or shorter.
      item.estimate = ToSeconds(job.spec().hold().duration());
      item.estimate_low = std::min(1.0, item.estimate);
      item.estimate_high = item.estimate;
    }
  }
}

scheduler::JobEntry ToJobEntry(const kbench::v1::Job& job, double created_at, std::int64_t order) {
  scheduler::JobEntry entry;
  entry.name = job.name();
  entry.priority = job.spec().has_priority() ? job.spec().priority() : 500;
  entry.order = order;
  entry.device = job.spec().device();
  if (job.spec().has_queue_timeout()) {
    entry.queue_deadline = created_at + ToSeconds(job.spec().queue_timeout());
  }
  for (int i = 0; i < job.spec().cases_size(); ++i) {
    scheduler::Case item;
    item.ref = {job.name(), i};
    entry.cases.push_back(std::move(item));
  }
  FillFromJob(job, created_at, entry);
  return entry;
}

std::string WaitMessage(const std::string& reason) {
  if (reason == "NO_DEVICE") {
    return "no device it may run on has connected yet; start one on this machine with "
           "`kbench-client up`";
  }
  if (reason == "DEVICE_OFFLINE") {
    return "its device is offline; the job runs when the device's worker comes back (--device "
           "names "
           "another one)";
  }
  if (reason == "DEVICE_LACKS_KERNEL") {
    return "no device it may run on has an implementation for it; see `kbench-client devices`";
  }
  if (reason == "DEVICE_NOT_READY") {
    return "its device is being calibrated or is not fit to measure; see `kbench-client devices`";
  }
  if (reason == "DRAINING" || reason == "QUARANTINED") {
    return "its device takes nothing until it is resumed; see `kbench-client devices`";
  }
  if (reason == "DRIVER_MISMATCH") {
    return "the driver of its device was upgraded and the machine not restarted; the job runs when "
           "that has been done";
  }
  return "";
}

}  // namespace kbench::server
