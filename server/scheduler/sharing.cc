// Cases that end with the results of another job's run.
#include <algorithm>

#include "server/scheduler/scheduler.h"

namespace kbench::scheduler {

bool Scheduler::SharesRunning(const JobState& job, const Case& item) const {
  if (!job.entry.share || item.content == 0) return false;
  return std::any_of(leases_.begin(), leases_.end(), [&](const auto& lease) {
    const JobState& other = jobs_.at(lease.second.job);
    const Case& running = other.entry.cases[static_cast<std::size_t>(lease.second.index)];
    if (running.content != item.content || &other == &job) return false;
    // One that is being cancelled will have no results to share, and one whose worker is away may
    // have them late.
    const auto worker = workers_.find(running.worker);
    return worker != workers_.end() && worker->second.connected && !other.entry.cancel_requested &&
           WaitsFor(item.ref, running.worker);
  });
}

bool Scheduler::WaitsFor(const CaseRef& ref, const std::string& worker_id) const {
  const auto job = jobs_.find(ref.job);
  const auto worker = workers_.find(worker_id);
  if (job == jobs_.end() || worker == workers_.end()) return false;
  const JobState& state = job->second;
  if (state.entry.cancel_requested || state.queued.count(ref.index) == 0) return false;
  const WorkerEntry& entry = worker->second.entry;
  const Case& item = state.entry.cases[static_cast<std::size_t>(ref.index)];
  // The cases of one job compare only when they ran on one device.
  if (!state.pinned_device.empty() && state.pinned_device != entry.device) return false;
  return Matches(state.entry.device, item.need, entry);
}

bool Scheduler::MayRunOn(const std::string& selector, const std::string& worker_id) const {
  const auto worker = workers_.find(worker_id);
  return worker != workers_.end() && Matches(selector, "", worker->second.entry);
}

bool Scheduler::IsOpen(const std::string& worker_id, const Held& held) const {
  return const_cast<Scheduler*>(this)->OpenCase(worker_id, held) != nullptr;
}

Effects Scheduler::FinishCase(double now, const CaseRef& ref, const CaseRef& results_of,
                              const std::string& device) {
  Effects effects;
  Case* item = FindCase(ref);
  if (item == nullptr || item->state != State::kQueued) return effects;
  item->results_of = results_of.job;
  item->results_case = results_of.index;
  item->device = device;
  jobs_.at(ref.job).pinned_device = device;
  EndCase(now, *item, State::kSucceeded, "", "", effects);
  Settle(now, ref.job, effects);
  Dispatch(now, effects);
  return effects;
}

}  // namespace kbench::scheduler
