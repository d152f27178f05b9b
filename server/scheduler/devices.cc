// Devices beside their sessions: known from before a restart, blocked, and of one model a job.
#include <algorithm>
#include <utility>

#include "server/scheduler/scheduler.h"
#include "server/scheduler/selector.h"

namespace kbench::scheduler {

void Scheduler::KnowWorker(double now, WorkerEntry worker) {
  WorkerState& state = workers_[worker.worker_id];
  if (state.connected) return;
  state.entry = std::move(worker);
  RelineAll(now);
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

bool Scheduler::OtherModel(const JobState& job, const WorkerEntry& worker) const {
  if (job.pinned_device.empty() || !MayMixModels(job.entry.device)) return false;
  const auto pinned = std::find_if(workers_.begin(), workers_.end(), [&](const auto& other) {
    return other.second.entry.device == job.pinned_device;
  });
  return pinned != workers_.end() && pinned->second.entry.model != worker.model;
}

void Scheduler::KeepModel(const JobState& job, std::vector<WorkerState*>& workers) const {
  const auto other = [&](const WorkerState* worker) { return OtherModel(job, worker->entry); };
  // A case that no device of the job's model can run at all is measured where it can be.
  if (std::all_of(workers.begin(), workers.end(), other)) return;
  std::erase_if(workers, other);
}

}  // namespace kbench::scheduler
