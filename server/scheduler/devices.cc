// Devices beside their sessions: known from before a restart, blocked, and of one model a job.
#include <algorithm>
#include <utility>

#include "server/scheduler/scheduler.h"
#include "server/scheduler/selector.h"

namespace kbench::scheduler {

void Scheduler::KnowWorker(WorkerEntry worker) {
  WorkerState& state = workers_[worker.worker_id];
  if (state.connected) return;
  state.entry = std::move(worker);
}

void Scheduler::ForgetWorker(const std::string& worker_id) {
  const auto found = workers_.find(worker_id);
  if (found != workers_.end() && !found->second.connected) workers_.erase(found);
}

Effects Scheduler::BlockDevice(double now, const std::string& device, const std::string& reason) {
  Effects effects;
  bool changed = false;
  for (auto& [id, worker] : workers_) {
    if (worker.entry.device != device || worker.entry.blocked == reason) continue;
    worker.entry.blocked = reason;
    changed = true;
  }
  // Also when it is blocked: a job that was kept for it may run on another one of its model.
  if (changed) Dispatch(now, effects);
  return effects;
}

bool Scheduler::KeepsModel(const JobState& job, const Case& item, const WorkerEntry& worker) const {
  if (job.pinned_device.empty() || !MayMixModels(job.entry.device)) return true;
  const auto pinned = std::find_if(workers_.begin(), workers_.end(), [&](const auto& other) {
    return other.second.entry.device == job.pinned_device;
  });
  if (pinned == workers_.end() || pinned->second.entry.model == worker.model) return true;
  // A case that no device of the job's model can run at all is measured where it can be.
  return std::none_of(workers_.begin(), workers_.end(), [&](const auto& other) {
    return other.second.entry.model == pinned->second.entry.model &&
           Matches(job.entry.device, item.need, other.second.entry);
  });
}

}  // namespace kbench::scheduler
