// Cases that end with the results of another job's run.
#include "server/scheduler/scheduler.h"

namespace kbench::scheduler {

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

bool Scheduler::SelectsWorker(const std::string& selector, const std::string& worker_id) const {
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
  Pin(jobs_.at(ref.job), device);
  EndCase(now, *item, State::kSucceeded, "", "", effects);
  Settle(now, ref.job, effects);
  Dispatch(now, effects);
  return effects;
}

}  // namespace kbench::scheduler
