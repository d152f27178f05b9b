// Who runs next.
#include <algorithm>

#include "server/scheduler/scheduler.h"
#include "server/scheduler/selector.h"

namespace kbench::scheduler {

bool Scheduler::Able(const std::string& need, const WorkerEntry& worker) {
  return need.empty() || worker.capabilities.count(need) > 0;
}

bool Scheduler::Matches(const std::string& selector, const std::string& need,
                        const WorkerEntry& worker) const {
  if (!Selects(selector, worker) || !Able(need, worker)) return false;
  if (!selector.empty() || worker.device_kind == "cuda") return true;
  return std::none_of(workers_.begin(), workers_.end(), [&](const auto& other) {
    return other.second.entry.device_kind == "cuda" && Able(need, other.second.entry);
  });
}

bool Scheduler::MatchesSome(const JobState& job, const WorkerEntry& worker) const {
  const std::string* last = nullptr;  // the cases of a sweep mostly need the same
  for (const Case& item : job.entry.cases) {
    if (IsFinal(item.state) || (last != nullptr && item.need == *last)) continue;
    if (Matches(job.entry.device, item.need, worker)) return true;
    last = &item.need;
  }
  return false;
}

bool Scheduler::Assignable(const WorkerState& worker, double now) const {
  if (!Live(worker, now) || !worker.entry.ready || worker.entry.draining ||
      !worker.entry.blocked.empty() || worker.needs_heartbeat || !worker.busy.empty()) {
    return false;
  }
  return std::none_of(leases_.begin(), leases_.end(), [&](const auto& lease) {
    const Case& item =
        jobs_.at(lease.second.job).entry.cases[static_cast<std::size_t>(lease.second.index)];
    return item.device == worker.entry.device || item.lease->worker_id == worker.entry.worker_id;
  });
}

bool Scheduler::MayTake(const JobState& job, const Case& item, const WorkerState& worker,
                        double now) const {
  if (!Matches(job.entry.device, item.need, worker.entry)) return false;
  if (job.pinned_device.empty() || job.pinned_device == worker.entry.device) return true;
  return std::none_of(workers_.begin(), workers_.end(), [&](const auto& other) {
    const WorkerEntry& pinned = other.second.entry;
    return pinned.device == job.pinned_device && Live(other.second, now) && pinned.ready &&
           !pinned.draining && Matches(job.entry.device, item.need, pinned);
  });
}

int Scheduler::NextFor(const JobState& job, const WorkerState& worker, double now) const {
  const std::string* refused = nullptr;
  for (const int index : job.queued) {
    const Case& item = job.entry.cases[static_cast<std::size_t>(index)];
    if (refused != nullptr && item.need == *refused) continue;
    if (SharesRunning(job, item)) continue;
    if (MayTake(job, item, worker, now)) return index;
    refused = &item.need;
  }
  return -1;
}

void Scheduler::StartCase(double now, JobState& job, int index, WorkerState& worker,
                          Effects& effects) {
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
  item.finished_since = 0;
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
    for (const LineKey& key : line_) {
      JobState& job = jobs_.at(std::get<2>(key));
      const int index = NextFor(job, worker, now);
      if (index < 0) continue;
      StartCase(now, job, index, worker, effects);
      break;  // the line has changed
    }
  }
}

}  // namespace kbench::scheduler
