#include "tests/server/scheduler/world.h"

#include <algorithm>
#include <utility>

namespace kbench::scheduler {
namespace {

bool SameLease(const std::optional<Lease>& a, const std::optional<Lease>& b) {
  if (a.has_value() != b.has_value()) return false;
  return !a || (a->worker_id == b->worker_id && a->boot_id == b->boot_id &&
                a->attempt == b->attempt && a->epoch == b->epoch);
}

bool SameCase(const Case& a, const Case& b) {
  return a.ref == b.ref && a.state == b.state && a.attempts == b.attempts &&
         a.infra_failures == b.infra_failures && a.worker_deaths == b.worker_deaths &&
         a.open_epoch == b.open_epoch && a.device == b.device && a.worker == b.worker &&
         a.reason == b.reason && a.message == b.message && a.started_at == b.started_at &&
         a.ended_at == b.ended_at && SameLease(a.lease, b.lease);
}

bool SameJob(const JobEntry& a, const JobEntry& b) {
  return a.name == b.name && a.priority == b.priority && a.order == b.order &&
         a.device == b.device && a.queue_deadline == b.queue_deadline && a.state == b.state &&
         a.reason == b.reason && a.message == b.message &&
         a.cancel_requested == b.cancel_requested && a.started_at == b.started_at &&
         a.ended_at == b.ended_at &&
         std::equal(a.cases.begin(), a.cases.end(), b.cases.begin(), b.cases.end(), SameCase);
}

}  // namespace

void World::Apply(const Effects& effects) {
  for (const CaseTransition& transition : effects.cases) {
    const Case& item = transition.state;
    if (item.lease) next_epoch_ = std::max(next_epoch_, item.lease->epoch + 1);
    Case& old = durable_.at(item.ref.job).cases.at(static_cast<std::size_t>(item.ref.index));
    if (IsFinal(old.state)) fault_ = "an ended case changed: " + item.ref.job;
    if (item.lease.has_value() != (item.state == State::kRunning)) fault_ = "lease without a run";
    old = item;
  }
  for (const JobTransition& job : effects.jobs) {
    JobEntry& entry = durable_.at(job.job);
    if (IsFinal(entry.state)) fault_ = "an ended job changed: " + job.job;
    entry.state = job.state;
    entry.reason = job.reason;
    entry.message = job.message;
    entry.cancel_requested = job.cancel_requested;
    entry.started_at = job.started_at;
    entry.ended_at = job.ended_at;
  }
  for (const OwnerUsage& usage : effects.usages) {
    if (usage.seconds > 0) {
      usages_[usage.owner] = usage;
    } else {
      usages_.erase(usage.owner);
    }
  }
  for (const AssignTo& assign : effects.assigns) {
    if (!epochs_.insert(assign.epoch).second) fault_ = "an epoch was used twice";
    assigns_.push_back(assign);
  }
  cancels_.insert(cancels_.end(), effects.cancels.begin(), effects.cancels.end());
}

void World::Restart() {
  Reset();
  assigns_.clear();  // what was not sent yet is not sent
  cancels_.clear();
  std::vector<JobEntry> jobs;
  for (const auto& [name, job] : durable_) {
    if (!IsFinal(job.state)) jobs.push_back(job);
  }
  std::vector<OwnerUsage> usages;
  for (const auto& [owner, usage] : usages_) usages.push_back(usage);
  Apply(scheduler_->Restore(now_, std::move(jobs), next_epoch_, usages));
}

void World::Add(const std::string& name, int cases, const std::string& device, int priority,
                double queue_deadline) {
  JobEntry job;
  job.name = name;
  job.priority = priority;
  job.device = device;
  job.queue_deadline = queue_deadline;
  for (int i = 0; i < cases; ++i) {
    Case item;
    item.ref = {name, i};
    job.cases.push_back(item);
  }
  AddEntry(std::move(job));
}

void World::AddNeeding(const std::string& name, const std::vector<std::string>& needs,
                       const std::string& device) {
  JobEntry job;
  job.name = name;
  job.device = device;
  for (const std::string& need : needs) {
    Case item;
    item.ref = {name, static_cast<int>(job.cases.size())};
    item.need = need;
    job.cases.push_back(item);
  }
  AddEntry(std::move(job));
}

void World::AddHold(const std::string& name, const std::string& device) {
  JobEntry job;
  job.name = name;
  job.order = next_order_++;
  job.device = device;
  job.hold = true;
  job.cases.emplace_back().ref = {name, 0};
  AddEntry(std::move(job));
}

void World::AddEntry(JobEntry job) {
  job.submitted_at = now_;
  if (job.order == 0) job.order = next_order_++;
  JobEntry& mirror = durable_[job.name] = job;
  for (Case& item : mirror.cases) {
    // As the store makes it: waiting; that it has ended already is a transition.
    item.state = State::kQueued;
  }
  Apply(scheduler_->AddJob(now_, std::move(job)));
}

WorkerEntry World::Worker(const std::string& id, const std::string& boot, const std::string& device,
                          const std::string& kind) const {
  WorkerEntry worker;
  worker.worker_id = id;
  worker.boot_id = boot;
  worker.device = device;
  worker.device_kind = kind;
  worker.device_key = "host/" + device;
  return worker;
}

HelloAnswer World::Hello(const WorkerEntry& worker, const std::vector<Held>& held) {
  HelloAnswer answer = scheduler_->WorkerHello(now_, worker, held);
  Apply(answer.effects);
  return answer;
}

void World::Beat(const WorkerEntry& worker, const std::vector<Held>& held, bool ready,
                 bool draining) {
  Apply(scheduler_->WorkerHeartbeat(now_, worker.worker_id, worker.boot_id, ready, draining, held));
}

bool World::Result(const std::string& worker_id, const Held& held, AttemptEnd::Kind kind) {
  const ResultAnswer answer = scheduler_->WorkerResult(now_, worker_id, held, {kind, "fault"});
  Apply(answer.effects);
  if (answer.accepted && kind == AttemptEnd::Kind::kResult && !accepted_.insert(held.ref).second) {
    fault_ = "two results were accepted for a case of " + held.ref.job;
  }
  return answer.accepted;
}

void World::Pass(double seconds) {
  for (double left = seconds; left > 0; left -= 0.5) {
    Advance(std::min(left, 0.5));
    Tick();
  }
}

std::vector<AssignTo> World::TakeAssigns() { return std::exchange(assigns_, {}); }
std::vector<CancelOn> World::TakeCancels() { return std::exchange(cancels_, {}); }

std::string World::Check() const {
  if (!fault_.empty()) return fault_;
  std::set<std::string> leased_devices;
  int queued = 0;
  int running = 0;
  for (const auto& [name, job] : durable_) {
    const JobEntry* live = scheduler_->FindJob(name);
    if (IsFinal(job.state) != (live == nullptr)) return name + ": known only on one side";
    if (live != nullptr && !SameJob(*live, job)) return name + ": memory and disk differ";
    for (const Case& item : job.cases) {
      if (IsFinal(job.state) && !IsFinal(item.state)) return name + ": ended with an open case";
      if (item.state == State::kQueued) ++queued;
      if (item.state == State::kRunning) ++running;
      if (item.lease && !leased_devices.insert(item.device).second) {
        return item.device + ": two attempts on one device";
      }
      // A hold needs no result to end well.
      const bool answered = accepted_.count(item.ref) + reused_.count(item.ref) > 0;
      if (!job.hold && (item.state == State::kSucceeded) != answered) {
        return name + ": succeeded and accepted results differ";
      }
    }
  }
  if (queued != scheduler_->QueuedCases()) return "the line lost or doubled a case";
  if (running != scheduler_->RunningCases()) return "a lease is lost or doubled";
  return "";
}

}  // namespace kbench::scheduler
