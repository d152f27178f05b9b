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
  std::set<std::string> devices;
  for (const Part& part : job.parts) {
    for (const WorkerState* worker : pools_[static_cast<std::size_t>(part.pool)]) {
      devices.insert(worker->entry.device);
    }
  }
  return static_cast<int>(std::count_if(leases_.begin(), leases_.end(), [&](const auto& lease) {
    const CaseRef& ref = lease.second.ref;
    return devices.count(
               jobs_.at(ref.job).entry.cases[static_cast<std::size_t>(ref.index)].device) > 0;
  }));
}

int Scheduler::QueuePosition(const std::string& job) const {
  const auto found = jobs_.find(job);
  if (found == jobs_.end() || !Waits(found->second)) return 0;
  return RunningFor(found->second) + static_cast<int>(StandingOf(found->second).cases);
}

std::vector<int> Scheduler::QueuePositions(const std::vector<std::string>& jobs) const {
  std::map<int, Field> fields;  // by pool: the same for most of the jobs
  std::vector<int> positions;
  for (const std::string& name : jobs) {
    const auto found = jobs_.find(name);
    if (found == jobs_.end() || !Waits(found->second)) {
      positions.push_back(0);
      continue;
    }
    std::optional<std::int64_t> ahead;
    for (const Part& part : found->second.parts) {
      const auto field = fields.find(part.pool);
      const Field& mine = field != fields.end()
                              ? field->second
                              : fields.emplace(part.pool, Competing(part.pool)).first->second;
      const std::int64_t cases = StandingIn(found->second, part, mine).cases;
      ahead = std::min(ahead.value_or(cases), cases);
    }
    positions.push_back(RunningFor(found->second) + static_cast<int>(ahead.value_or(0)));
  }
  return positions;
}

std::string Scheduler::WaitReason(double now, const std::string& job) const {
  const auto found = jobs_.find(job);
  if (found == jobs_.end() || found->second.queued.empty()) return "";
  const JobState& state = found->second;
  if (state.open > static_cast<int>(state.queued.size())) return "";  // one of its cases runs
  bool known = false;
  bool able = false;
  bool live = false;
  std::string blocked;
  for (const auto& [id, worker] : workers_) {
    known = known || Selects(state.entry.device, worker.entry);
    if (!MatchesSome(state, worker.entry)) continue;
    able = true;
    if (!Live(worker, now)) continue;
    live = true;
    if (!worker.entry.blocked.empty()) {
      blocked = worker.entry.blocked;
    } else if (worker.entry.ready && !worker.entry.draining) {
      return "";
    }
  }
  if (!blocked.empty()) return blocked;
  if (live) return "DEVICE_NOT_READY";
  if (able) return "DEVICE_OFFLINE";
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
