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
  return {State::kSucceeded, nullptr};
}

}  // namespace

Scheduler::Scheduler(Options options) : options_(options) {}

Scheduler::LineKey Scheduler::KeyOf(const JobEntry& job) {
  return {-job.priority, job.order, job.name};
}

Effects Scheduler::Restore(double now, std::vector<JobEntry> jobs, std::int64_t next_epoch) {
  next_epoch_ = std::max(next_epoch_, next_epoch);
  for (JobEntry& entry : jobs) {
    double latest_start = 0;
    JobState state;
    for (Case& item : entry.cases) {
      if (!IsFinal(item.state)) ++state.open;
      if (item.state == State::kQueued) state.queued.insert(item.ref.index);
      const bool reused = !item.results_of.empty() && latest_start == 0;
      if (item.started_at > latest_start || reused) {
        latest_start = item.started_at;
        state.pinned_device = item.device;
      }
      if (!item.lease) continue;
      item.lease->expires_at = now + options_.restore_grace_seconds;
      item.lease->confirmed = true;
      leases_[item.lease->epoch] = item.ref;
    }
    state.entry = std::move(entry);
    const std::string name = state.entry.name;
    if (!state.queued.empty()) line_.insert(KeyOf(state.entry));
    if (state.entry.queue_deadline > 0 && state.entry.started_at == 0) {
      deadlines_.insert({state.entry.queue_deadline, name});
    }
    jobs_[name] = std::move(state);
  }
  Effects effects;
  std::vector<std::string> names = ActiveJobs();
  for (const std::string& name : names) Settle(now, name, effects);
  Dispatch(now, effects);
  return effects;
}

Effects Scheduler::AddJob(double now, JobEntry job) {
  Effects effects;
  const std::string name = job.name;
  if (job.cases.empty() || jobs_.count(name) > 0) return effects;
  JobState state;
  state.entry = std::move(job);
  for (const Case& item : state.entry.cases) {
    if (IsFinal(item.state)) {
      state.pinned_device = item.device;
      effects.cases.push_back({item});
    } else {
      state.queued.insert(item.ref.index);
    }
  }
  state.open = static_cast<int>(state.queued.size());
  if (!state.queued.empty()) line_.insert(KeyOf(state.entry));
  if (state.entry.queue_deadline > 0) deadlines_.insert({state.entry.queue_deadline, name});
  jobs_[name] = std::move(state);
  if (!effects.cases.empty()) Settle(now, name, effects);
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
  DropLease(item);
  if (item.state == State::kQueued) {
    job.queued.erase(item.ref.index);
    if (job.queued.empty()) line_.erase(KeyOf(job.entry));
  }
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
  if (job.open == 0) jobs_.erase(found);
}

}  // namespace kbench::scheduler
