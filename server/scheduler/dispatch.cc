// Who runs next.
#include <algorithm>

#include "server/scheduler/scheduler.h"

namespace kbench::scheduler {

bool Scheduler::Matches(const std::string& selector, const WorkerEntry& worker) const {
  if (selector == worker.device) return true;
  if (selector == "gpu") return worker.device_kind == "cuda";
  if (selector == "cpu") return worker.device_kind == "cpu";
  if (!selector.empty()) return false;
  if (worker.device_kind == "cuda") return true;
  return std::none_of(workers_.begin(), workers_.end(),
                      [](const auto& other) { return other.second.entry.device_kind == "cuda"; });
}

bool Scheduler::Assignable(const WorkerState& worker, double now) const {
  if (!Live(worker, now) || !worker.entry.ready || worker.entry.draining ||
      worker.needs_heartbeat || !worker.busy.empty()) {
    return false;
  }
  return std::none_of(leases_.begin(), leases_.end(), [&](const auto& lease) {
    const Case& item =
        jobs_.at(lease.second.job).entry.cases[static_cast<std::size_t>(lease.second.index)];
    return item.device == worker.entry.device || item.lease->worker_id == worker.entry.worker_id;
  });
}

bool Scheduler::MayTake(const JobState& job, const WorkerState& worker, double now) const {
  if (!Matches(job.entry.device, worker.entry)) return false;
  if (job.pinned_device.empty() || job.pinned_device == worker.entry.device) return true;
  return std::none_of(workers_.begin(), workers_.end(), [&](const auto& other) {
    const WorkerEntry& pinned = other.second.entry;
    return pinned.device == job.pinned_device && Live(other.second, now) && pinned.ready &&
           !pinned.draining && Matches(job.entry.device, pinned);
  });
}

void Scheduler::StartCase(double now, JobState& job, WorkerState& worker, Effects& effects) {
  const int index = *job.queued.begin();
  Case& item = job.entry.cases[static_cast<std::size_t>(index)];
  job.queued.erase(index);
  if (job.queued.empty()) line_.erase(KeyOf(job.entry));
  job.pinned_device = worker.entry.device;
  item.state = State::kRunning;
  item.reason.clear();
  item.message.clear();
  item.device = worker.entry.device;
  item.worker = worker.entry.worker_id;
  item.started_at = now;
  ++item.attempts;
  item.open_epoch = next_epoch_++;
  item.lease = Lease{worker.entry.worker_id, worker.entry.boot_id,         item.attempts,
                     item.open_epoch,        now + options_.lease_seconds, false};
  leases_[item.open_epoch] = item.ref;
  effects.cases.push_back({item});
  effects.assigns.push_back(
      {worker.entry.worker_id, item.ref, item.attempts, item.open_epoch, !job.queued.empty()});
  Settle(now, job.entry.name, effects);
}

void Scheduler::Dispatch(double now, Effects& effects) {
  for (auto& [id, worker] : workers_) {
    if (line_.empty()) return;
    if (!Assignable(worker, now)) continue;
    const auto next =
        std::find_if(line_.begin(), line_.end(), [&, w = &worker](const LineKey& key) {
          return MayTake(jobs_.at(std::get<2>(key)), *w, now);
        });
    if (next != line_.end()) StartCase(now, jobs_.at(std::get<2>(*next)), worker, effects);
  }
}

}  // namespace kbench::scheduler
