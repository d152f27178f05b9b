// What may be asked of the scheduler.
#include <algorithm>

#include "server/scheduler/ahead.h"
#include "server/scheduler/scheduler.h"
#include "server/scheduler/selector.h"

namespace kbench::scheduler {

std::optional<double> Scheduler::NextDeadline() const {
  std::optional<double> next;
  if (!deadlines_.empty()) next = deadlines_.begin()->first;
  for (const auto& [epoch, running] : leases_) {
    const CaseRef& ref = running.ref;
    const Case& item = jobs_.at(ref.job).entry.cases[static_cast<std::size_t>(ref.index)];
    if (!next || item.lease->expires_at < *next) next = item.lease->expires_at;
  }
  return next;
}

bool Scheduler::Waits(const JobState& job) const {
  return !job.queued.empty() && job.open == static_cast<int>(job.queued.size());
}

int Scheduler::RunningFor(const JobState& job) const {
  const auto runs_there = [&](const std::string& device) {
    return std::any_of(job.parts.begin(), job.parts.end(), [&](const Part& part) {
      const auto& workers = pools_[static_cast<std::size_t>(part.pool)];
      return std::any_of(workers.begin(), workers.end(),
                         [&](const WorkerState* worker) { return worker->entry.device == device; });
    });
  };
  return static_cast<int>(std::count_if(leases_.begin(), leases_.end(), [&](const auto& lease) {
    const CaseRef& ref = lease.second.ref;
    return runs_there(jobs_.at(ref.job).entry.cases[static_cast<std::size_t>(ref.index)].device);
  }));
}

int Scheduler::QueuePosition(const std::string& job) const {
  const auto found = jobs_.find(job);
  if (found == jobs_.end() || !Waits(found->second)) return 0;
  Fields fields;
  return RunningFor(found->second) + static_cast<int>(StandingOf(found->second, fields).cases);
}

std::string Scheduler::WaitReason(double now, const std::string& job) const {
  const auto found = jobs_.find(job);
  return found == jobs_.end() || !Waits(found->second) ? "" : ReasonOf(now, found->second);
}

std::string Scheduler::ReasonOf(double now, const JobState& state) const {
  bool known = false;
  bool able = false;
  bool live = false;
  bool free_offline = false;  // away, and would take the job when it comes back
  std::string blocked;
  for (const auto& [id, worker] : workers_) {
    known = known || Selects(state.entry.device, worker.entry);
    if (!MatchesSome(state, worker.entry)) continue;
    able = true;
    if (!worker.entry.blocked.empty()) {
      blocked = worker.entry.blocked;
      continue;
    }
    if (!Live(worker, now)) {
      free_offline = true;
      continue;
    }
    live = true;
    if (worker.entry.ready && !worker.entry.draining) return "";
  }
  if (live) return "DEVICE_NOT_READY";
  if (free_offline) return "DEVICE_OFFLINE";
  if (able) return blocked;
  return known ? "DEVICE_LACKS_KERNEL" : "NO_DEVICE";
}

const JobEntry* Scheduler::FindJob(const std::string& job) const {
  const auto found = jobs_.find(job);
  return found == jobs_.end() ? nullptr : &found->second.entry;
}

std::vector<std::string> Scheduler::ActiveJobs() const {
  std::vector<std::string> names;
  for (const auto& [name, job] : jobs_) names.push_back(name);
  return names;
}

std::optional<CaseRef> Scheduler::RunningOn(const std::string& device) const {
  for (const auto& [epoch, running] : leases_) {
    const CaseRef& ref = running.ref;
    const Case& item = jobs_.at(ref.job).entry.cases[static_cast<std::size_t>(ref.index)];
    if (item.device == device) return ref;
  }
  return std::nullopt;
}

}  // namespace kbench::scheduler
