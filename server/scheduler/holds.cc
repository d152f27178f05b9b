// Holds: a job whose one case is the device itself.
#include "server/scheduler/scheduler.h"

namespace kbench::scheduler {

Effects Scheduler::EndHold(double now, const std::string& job, const std::string& reason,
                           const std::string& message) {
  Effects effects;
  if (!HoldIsRunning(job)) return effects;
  Case& item = jobs_.at(job).entry.cases.front();
  const Lease& lease = *item.lease;
  effects.cancels.push_back({lease.worker_id, item.ref, lease.attempt, lease.epoch, true});
  // The device is free only when its worker no longer names the hold.
  const auto worker = workers_.find(lease.worker_id);
  if (worker != workers_.end()) worker->second.busy.insert(lease.epoch);
  EndCase(now, item, State::kSucceeded, reason, message, effects);
  Settle(now, job, effects);
  Dispatch(now, effects);
  return effects;
}

bool Scheduler::HoldIsRunning(const std::string& job) const {
  const auto found = jobs_.find(job);
  return found != jobs_.end() && found->second.entry.hold &&
         found->second.entry.cases.front().lease.has_value();
}

}  // namespace kbench::scheduler
