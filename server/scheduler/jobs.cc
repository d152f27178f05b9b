// Jobs entering, leaving, and following the states of their cases.
#include <algorithm>
#include <utility>

#include "server/scheduler/scheduler.h"

namespace kbench::scheduler {
namespace {

JobTransition TransitionOf(const JobEntry& job) {
  return {job.name,       job.state,   job.reason, job.message, job.cancel_requested,
          job.started_at, job.ended_at};
}

const Case* FirstIn(const JobEntry& job, State state) {
  const auto found = std::find_if(job.cases.begin(), job.cases.end(),
                                  [&](const Case& item) { return item.state == state; });
  return found == job.cases.end() ? nullptr : &*found;
}

// The state of a job all of whose cases have ended, with the case that explains it.
std::pair<State, const Case*> FinalState(const JobEntry& job) {
  if (const Case* item = FirstIn(job, State::kCancelled)) return {State::kCancelled, item};
  if (const Case* item = FirstIn(job, State::kFailed)) return {State::kFailed, item};
  if (const Case* item = FirstIn(job, State::kExpired)) return {State::kExpired, item};
  // How a hold ended is worth knowing; of measurements the results tell.
  return {State::kSucceeded, job.hold ? &job.cases.front() : nullptr};
}

}  // namespace

Scheduler::Scheduler(Options options)
    : options_(options), usage_(options.half_life_seconds), line_(options) {
  Intern({});  // pool 0: nobody
}

JobState& Scheduler::Adopt(double now, JobEntry entry) {
  JobState& job = jobs_[entry.name];
  job.owner = &usage_.Of(entry.owner);
  ++job.owner->jobs;
  job.key = {entry.priority, 0, entry.order, next_serial_++};
  job.since = std::min(entry.submitted_at, now);
  job.entry = std::move(entry);
  for (const Case& item : job.entry.cases) {
    if (!IsFinal(item.state)) ++job.open;
    if (item.state == State::kQueued) Queue(job, item.ref.index);
  }
  SetTurn(job, job.entry.submitted_at);
  return job;
}

void Scheduler::SetTurn(JobState& job, double from) {
  double seconds = 0;
  for (const int index : job.queued) {
    seconds += job.entry.cases[static_cast<std::size_t>(index)].estimate;
  }
  job.key.turn = from + std::min(options_.turn_factor * seconds, options_.bound_seconds);
  job.turn_left = options_.bound_seconds;
}

Effects Scheduler::Restore(double now, std::vector<JobEntry> jobs, std::int64_t next_epoch,
                           const std::vector<OwnerUsage>& usages) {
  next_epoch_ = std::max(next_epoch_, next_epoch);
  for (const OwnerUsage& usage : usages) usage_.Restore(now, usage);
  for (JobEntry& entry : jobs) {
    JobState& job = Adopt(now, std::move(entry));
    double latest_start = 0;
    for (Case& item : job.entry.cases) {
      const bool reused = !item.results_of.empty() && latest_start == 0;
      if (item.started_at > latest_start || reused) {
        latest_start = item.started_at;
        job.pinned_device = item.device;
      }
      if (!item.lease) continue;
      item.lease->expires_at = now + options_.restore_grace_seconds;
      item.lease->confirmed = true;
      AddLease(now, item);
      item.held = job.entry.hold;
    }
    // Which class was served when is not stored: whoever was served at all has waited since then.
    job.since = std::min(now, std::max({job.since, latest_start, job.owner->served_at}));
    if (job.entry.queue_deadline > 0 && job.entry.started_at == 0) {
      deadlines_.insert({job.entry.queue_deadline, job.entry.name});
    }
  }
  Effects effects;
  const std::vector<std::string> names = ActiveJobs();
  for (const std::string& name : names) Settle(now, name, effects);
  Dispatch(now, effects);
  return effects;
}

Effects Scheduler::AddJob(double now, JobEntry entry) {
  Effects effects;
  if (entry.cases.empty() || jobs_.count(entry.name) > 0) return effects;
  const std::string name = entry.name;
  JobState& job = Adopt(now, std::move(entry));
  if (job.entry.queue_deadline > 0) deadlines_.insert({job.entry.queue_deadline, job.entry.name});
  for (const Case& item : job.entry.cases) {
    if (!IsFinal(item.state)) continue;
    effects.cases.push_back({item});
    job.pinned_device = item.device;
  }
  if (effects.cases.empty()) {
    Reline(now, job);
  } else {
    Settle(now, name, effects);
  }
  Dispatch(now, effects);
  return effects;
}

Effects Scheduler::CancelJob(double now, const std::string& job) {
  Effects effects;
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return effects;
  JobEntry& entry = found->second.entry;
  if (!entry.cancel_requested) {
    entry.cancel_requested = true;
    effects.jobs.push_back(TransitionOf(entry));
  }
  for (Case& item : entry.cases) {
    if (item.state == State::kQueued) {
      EndCase(now, item, State::kCancelled, "CANCELLED", "cancelled before it ran", effects);
    } else if (item.state == State::kRunning && item.lease) {
      effects.cancels.push_back(
          {item.lease->worker_id, item.ref, item.lease->attempt, item.lease->epoch});
      // Nothing runs any more: the next tick ends it, unless the result comes first.
      if (item.finished_since > 0) item.lease->expires_at = now;
    }
  }
  Settle(now, job, effects);
  Dispatch(now, effects);
  return effects;
}

void Scheduler::EndCase(double now, Case& item, State state, const std::string& reason,
                        const std::string& message, Effects& effects) {
  JobState& job = jobs_.at(item.ref.job);
  DropLease(now, item, Took(now, item), effects);
  Unqueue(job, item.ref.index);
  --job.open;
  item.state = state;
  item.reason = reason;
  item.message = message;
  item.open_epoch = 0;
  item.ended_at = now;
  effects.cases.push_back({item});
}

void Scheduler::Settle(double now, const std::string& name, Effects& effects) {
  const auto found = jobs_.find(name);
  if (found == jobs_.end()) return;
  JobState& job = found->second;
  Reline(now, job);
  JobEntry& entry = job.entry;
  const State old_state = entry.state;
  if (job.open == 0) {
    const auto [state, why] = FinalState(entry);
    entry.state = state;
    entry.reason = why ? why->reason : "";
    entry.message = why ? why->message : "";
    entry.ended_at = now;
  } else {
    const bool untouched = job.open == static_cast<int>(entry.cases.size()) &&
                           job.open == static_cast<int>(job.queued.size());
    entry.state = untouched ? State::kQueued : State::kRunning;
  }
  const bool started = entry.state == State::kRunning && entry.started_at == 0;
  if (started) entry.started_at = now;
  if (entry.started_at > 0 || job.open == 0) deadlines_.erase({entry.queue_deadline, name});
  if (entry.state != old_state || started) effects.jobs.push_back(TransitionOf(entry));
  if (job.open > 0) return;
  --job.owner->jobs;
  jobs_.erase(found);
}

}  // namespace kbench::scheduler
