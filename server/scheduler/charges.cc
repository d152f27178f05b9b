// What attempts cost their owners.
#include <algorithm>

#include "server/scheduler/scheduler.h"

namespace kbench::scheduler {

void Scheduler::AddLease(double now, Case& item) {
  JobState& job = jobs_.at(item.ref.job);
  // After a restart with a clock that was set back an attempt may seem to begin in the future.
  const double began = std::min(item.started_at, now);
  leases_[item.lease->epoch] = {item.ref, began, item.estimate};
  usage_.Charge(began, *job.owner, item.estimate);
  line_.UsageChanged(now, *job.owner);
}

double Scheduler::Took(double now, const Case& item) {
  const double end = item.finished_since > 0 ? item.finished_since : now;
  return std::max(0.0, end - item.started_at);
}

void Scheduler::DropLease(double now, Case& item, double took, Effects& effects) {
  if (!item.lease) return;
  const auto found = leases_.find(item.lease->epoch);
  if (found != leases_.end()) {
    JobState& job = jobs_.at(item.ref.job);
    usage_.Settle(found->second.began, *job.owner, found->second.charged, took);
    leases_.erase(found);
    line_.UsageChanged(now, *job.owner);
    Served(now, job, item.worker);
    effects.usages.push_back(usage_.Durable(now, *job.owner));
  }
  item.lease.reset();
}

double Scheduler::UsedSeconds(double now, const std::string& owner) const {
  const auto found = usage_.owners().find(owner);
  return found == usage_.owners().end() ? 0 : usage_.Seconds(now, found->second);
}

}  // namespace kbench::scheduler
