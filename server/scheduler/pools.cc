// Which workers may run what: every case belongs to a pool, the set of workers that may run it now.
// Pools are what lanes are made by, so that a worker's next case is found without looking at jobs
// that it cannot run.
#include <algorithm>
#include <utility>

#include "server/scheduler/scheduler.h"

namespace kbench::scheduler {

int Scheduler::Intern(std::vector<WorkerState*> workers) {
  std::vector<std::string> ids;
  for (const WorkerState* worker : workers) ids.push_back(worker->entry.worker_id);
  const auto [found, inserted] = pool_ids_.try_emplace(ids, static_cast<int>(pools_.size()));
  if (inserted) {
    for (WorkerState* worker : workers) worker->pools.push_back(found->second);
    pools_.push_back(std::move(workers));
  }
  return found->second;
}

int Scheduler::PoolOf(const JobState& job, const std::string& need) {
  const auto [route, unknown] = routes_.try_emplace({job.entry.device, need, job.pinned_device}, 0);
  if (!unknown) return route->second;
  std::vector<WorkerState*> workers;
  std::vector<WorkerState*> pinned;
  bool held = false;
  for (auto& [id, worker] : workers_) {
    if (!Matches(job.entry.device, need, worker.entry)) continue;
    workers.push_back(&worker);
    if (worker.entry.device != job.pinned_device) continue;
    pinned.push_back(&worker);
    held = held || worker.holds_pins;
  }
  KeepModel(job, workers);
  route->second = Intern(std::move(held ? pinned : workers));
  return route->second;
}

std::vector<Part> Scheduler::PartsOf(const JobState& job) {
  std::vector<Part> parts;
  const std::string* need = nullptr;  // the cases of a sweep mostly need the same
  Part* part = nullptr;
  for (const int index : job.queued) {
    const Case& item = job.entry.cases[static_cast<std::size_t>(index)];
    if (need == nullptr || item.need != *need) {
      need = &item.need;
      const int pool = PoolOf(job, item.need);
      const auto same = std::find_if(parts.begin(), parts.end(),
                                     [pool](const Part& other) { return other.pool == pool; });
      part = same != parts.end() ? &*same : &parts.emplace_back();
      part->pool = pool;
    }
    part->load.jobs = 1;
    ++part->load.cases;
    part->load.seconds += item.estimate;
    const double below = item.estimate - item.estimate_low;
    const double above = item.estimate_high - item.estimate;
    part->load.below_squared += below * below;
    part->load.above_squared += above * above;
    part->load.since = job.since;
  }
  return parts;
}

void Scheduler::Reline(double now, JobState& job) {
  if (!job.pinned_device.empty()) {
    std::set<JobState*>& jobs = pinned_[job.pinned_device];
    if (job.queued.empty()) {
      jobs.erase(&job);
    } else {
      jobs.insert(&job);
    }
  }
  line_.Put(now, job, PartsOf(job));
}

void Scheduler::Pin(JobState& job, const std::string& device) {
  if (job.pinned_device == device) return;
  if (!job.pinned_device.empty()) pinned_[job.pinned_device].erase(&job);
  job.pinned_device = device;
}

void Scheduler::RelineAll(double now) {
  routes_.clear();
  for (auto& [name, job] : jobs_) {
    if (!job.queued.empty()) Reline(now, job);
  }
}

void Scheduler::LookAtPins(double now) {
  std::set<std::string> changed;
  for (auto& [id, worker] : workers_) {
    const bool holds = Live(worker, now) && worker.entry.ready && !worker.entry.draining &&
                       worker.entry.blocked.empty();
    if (holds == worker.holds_pins) continue;
    worker.holds_pins = holds;
    changed.insert(worker.entry.device);
  }
  if (changed.empty()) return;
  std::erase_if(routes_,
                [&](const auto& route) { return changed.count(std::get<2>(route.first)) > 0; });
  for (const std::string& device : changed) {
    const auto jobs = pinned_.find(device);
    if (jobs == pinned_.end()) continue;
    const std::set<JobState*> waiting = jobs->second;
    for (JobState* job : waiting) Reline(now, *job);
  }
}

void Scheduler::Queue(JobState& job, int index) {
  const bool first = job.queued.empty();
  if (!job.queued.insert(index).second) return;
  backlog_.Add(job.entry, first);
  ++job.owner->waiting_cases;
}

void Scheduler::Unqueue(JobState& job, int index) {
  if (job.queued.erase(index) == 0) return;
  backlog_.Remove(job.entry, job.queued.empty());
  --job.owner->waiting_cases;
}

}  // namespace kbench::scheduler
