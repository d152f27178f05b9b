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
    const CaseRef& ref = lease.second.ref;
    const Case& item = jobs_.at(ref.job).entry.cases[static_cast<std::size_t>(ref.index)];
    return item.device == worker.entry.device || item.lease->worker_id == worker.entry.worker_id;
  });
}

int Scheduler::NextFor(const JobState& job, const WorkerState& worker) {
  const std::string* refused = nullptr;
  for (const int index : job.queued) {
    const Case& item = job.entry.cases[static_cast<std::size_t>(index)];
    if (refused != nullptr && item.need == *refused) continue;
    const int pool = PoolOf(job, item.need);
    if (std::find(worker.pools.begin(), worker.pools.end(), pool) != worker.pools.end()) {
      return index;
    }
    refused = &item.need;
  }
  return -1;
}

void Scheduler::StartCase(double now, JobState& job, int index, WorkerState& worker,
                          Effects& effects) {
  Case& item = job.entry.cases[static_cast<std::size_t>(index)];
  Unqueue(job, index);
  item.state = State::kRunning;
  item.reason.clear();
  item.message.clear();
  item.device = worker.entry.device;
  item.worker = worker.entry.worker_id;
  item.started_at = now;
  item.finished_since = 0;
  item.held = false;
  ++item.attempts;
  item.open_epoch = next_epoch_++;
  item.lease = Lease{worker.entry.worker_id, worker.entry.boot_id,         item.attempts,
                     item.open_epoch,        now + options_.lease_seconds, false};
  if (estimator_) estimator_(item, item.device);
  AddLease(now, item);
  Pin(job, item.device);
  Served(now, job, item.worker);
  job.turn_left -= item.estimate;
  if (job.turn_left <= 0 && !job.queued.empty()) {
    line_.Put(now, job, {});  // it stands there under its key
    SetTurn(job, now);
  }
  worker.interactive_last = job.entry.priority_class == PriorityClass::kInteractive;
  effects.cases.push_back({item});
  effects.assigns.push_back(
      {worker.entry.worker_id, item.ref, item.attempts, item.open_epoch, !job.queued.empty()});
  Settle(now, job.entry.name, effects);
}

void Scheduler::Served(double now, JobState& job, const std::string& worker_id) {
  job.since = std::max(job.since, now);
  const auto worker = workers_.find(worker_id);
  if (worker == workers_.end()) return;
  line_.Served(now, *job.owner, job.entry.priority_class, worker->second.pools);
}

void Scheduler::Dispatch(double now, Effects& effects) {
  if (usage_.Rebase(now)) line_.Rebuild(now);
  LookAtPins(now);
  line_.Age(now);
  for (auto& [id, worker] : workers_) {
    if (line_.empty()) return;
    if (!Assignable(worker, now)) continue;
    const Lane* lane = line_.Next(worker.pools, !worker.interactive_last);
    if (lane == nullptr) continue;
    JobState& job = *lane->jobs.At(0).job;
    const int index = NextFor(job, worker);
    if (index >= 0) StartCase(now, job, index, worker, effects);
  }
}

}  // namespace kbench::scheduler
