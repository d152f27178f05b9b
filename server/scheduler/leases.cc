// Attempts: how they are lost, tried again, taken up again and answered.
#include <algorithm>

#include "server/scheduler/scheduler.h"

namespace kbench::scheduler {
namespace {

constexpr double kPruneSeconds = 3600;

}  // namespace

Case* Scheduler::FindCase(const CaseRef& ref) {
  const auto job = jobs_.find(ref.job);
  if (job == jobs_.end()) return nullptr;
  std::vector<Case>& cases = job->second.entry.cases;
  if (ref.index < 0 || ref.index >= static_cast<int>(cases.size())) return nullptr;
  return &cases[static_cast<std::size_t>(ref.index)];
}

Case* Scheduler::OpenCase(const std::string& worker_id, const Held& held) {
  Case* item = FindCase(held.ref);
  if (item == nullptr || held.epoch == 0 || item->open_epoch != held.epoch ||
      item->attempts != held.attempt || item->worker != worker_id) {
    return nullptr;
  }
  return item;
}

void Scheduler::Requeue(Case& item, Effects& effects) {
  JobState& job = jobs_.at(item.ref.job);
  item.state = State::kQueued;
  Queue(job, item.ref.index);  // its index keeps its place
  effects.cases.push_back({item});
}

void Scheduler::RetryOrFail(double now, Case& item, const std::string& message, Effects& effects) {
  if (jobs_.at(item.ref.job).entry.cancel_requested) {
    EndCase(now, item, State::kCancelled, "CANCELLED", "cancelled while it ran", effects);
  } else if (item.held) {
    EndCase(now, item, State::kFailed, "INFRA", "the hold ended early: " + message, effects);
  } else if (DeathsOf(now, item) >= options_.poison_deaths) {
    EndPoisoned(now, item, effects);
  } else if (item.infra_failures >= options_.max_attempts) {  // what was handed back counts not
    EndCase(
        now, item, State::kFailed, "INFRA",
        "given up after " + std::to_string(item.attempts) + " attempts; the last one: " + message,
        effects);
  } else {
    item.reason = "INFRA";
    item.message = message;
    Requeue(item, effects);
  }
}

void Scheduler::LoseLease(double now, Case& item, Loss loss, Effects& effects) {
  const std::string worker = item.lease->worker_id;
  const bool cancelled = jobs_.at(item.ref.job).entry.cancel_requested;
  // A fault of the machine costs the owner nothing; a case that may have killed its worker does,
  // and so does a hold, whose device was used as long as it lasted.
  const bool paid = loss == Loss::kDeath || jobs_.at(item.ref.job).entry.hold;
  DropLease(now, item, paid ? Took(now, item) : 0, effects);
  if (loss == Loss::kExpired && cancelled && item.finished_since > 0) {
    EndCase(now, item, State::kCancelled, "CANCELLED", "cancelled while it ran", effects);
    return;
  }
  ++item.infra_failures;
  std::string message;
  switch (loss) {
    case Loss::kExpired:
      ++effects.expired_leases;
      message = item.finished_since > 0
                    ? "worker " + worker + " finished the attempt and did not send its result"
                    : "worker " + worker + " stopped answering";
      break;
    case Loss::kLost:
      item.open_epoch = 0;
      message = "worker " + worker + " lost the attempt";
      break;
    case Loss::kDeath:
      item.open_epoch = 0;
      ++item.worker_deaths;
      RememberDeath(now, item.content, item.ref);
      message = "worker " + worker + " died during the attempt";
      break;
  }
  RetryOrFail(now, item, message, effects);
}

double Scheduler::ResultDue(const Case& item) const {
  return item.finished_since + options_.finished_leases * options_.lease_seconds;
}

void Scheduler::TakeUp(double now, const WorkerEntry& worker, Case& item, const Held& held,
                       Effects& effects) {
  const bool unchanged = item.lease && item.lease->worker_id == worker.worker_id &&
                         item.lease->boot_id == worker.boot_id;
  if (!item.lease) {
    // The lease had run out, and no newer attempt has begun: it goes on.
    Unqueue(jobs_.at(item.ref.job), item.ref.index);
    item.state = State::kRunning;
    item.reason.clear();
    item.message.clear();
    item.lease.emplace();
    item.lease->epoch = held.epoch;
    AddLease(now, item);
  }
  item.lease->worker_id = worker.worker_id;
  item.lease->boot_id = worker.boot_id;
  item.lease->attempt = held.attempt;
  item.lease->expires_at = now + options_.lease_seconds;
  if (held.finished) {
    // What has been cancelled waits for no result.
    const bool cancelled = jobs_.at(item.ref.job).entry.cancel_requested;
    item.lease->expires_at = cancelled ? now : std::min(item.lease->expires_at, ResultDue(item));
  }
  item.lease->confirmed = true;
  item.held = jobs_.at(item.ref.job).entry.hold;
  if (unchanged) return;
  effects.cases.push_back({item});
  Settle(now, item.ref.job, effects);
}

ResultAnswer Scheduler::WorkerResult(double now, const std::string& worker_id, const Held& held,
                                     const AttemptEnd& end) {
  ResultAnswer answer;
  const auto worker = workers_.find(worker_id);
  if (worker != workers_.end()) {
    worker->second.busy.erase(held.epoch);
    if (worker->second.connected) worker->second.last_seen = now;
  }
  Case* item = OpenCase(worker_id, held);
  if (item == nullptr) {
    Dispatch(now, answer.effects);
    return answer;
  }
  answer.accepted = true;
  const std::string job = item->ref.job;
  const bool cancelled = jobs_.at(job).entry.cancel_requested;
  if (!item->lease && (end.kind == AttemptEnd::Kind::kResult || cancelled)) {
    // Nobody knows when it ended: the estimate stands for what it took.
    Owner& owner = *jobs_.at(job).owner;
    usage_.Add(std::min(item->started_at, now), owner, item->estimate);
    line_.UsageChanged(now, owner);
    answer.effects.usages.push_back(usage_.Durable(now, owner));
  }
  if (end.kind == AttemptEnd::Kind::kResult) {
    EndCase(now, *item, State::kSucceeded, end.reason, end.message, answer.effects);
  } else if (end.kind == AttemptEnd::Kind::kCancelled && cancelled) {
    EndCase(now, *item, State::kCancelled, "CANCELLED", "cancelled while it ran", answer.effects);
  } else {
    item->open_epoch = 0;
    if (item->lease) {
      DropLease(now, *item, 0, answer.effects);
      if (worker != workers_.end()) worker->second.needs_heartbeat = true;
      if (end.kind == AttemptEnd::Kind::kCancelled) {
        // Its worker is stopping and hands it back: nobody's fault.
        item->reason.clear();
        item->message = "handed back by worker " + worker_id + ", which is stopping";
        Requeue(*item, answer.effects);
        Settle(now, job, answer.effects);
        Dispatch(now, answer.effects);
        return answer;
      }
      ++item->infra_failures;
      RetryOrFail(now, *item, end.message.empty() ? "the attempt was given back" : end.message,
                  answer.effects);
    } else {
      answer.effects.cases.push_back({*item});  // already back in the line
    }
  }
  Settle(now, job, answer.effects);
  Dispatch(now, answer.effects);
  return answer;
}

Effects Scheduler::FailCase(double now, const CaseRef& ref, std::int64_t epoch,
                            const std::string& reason, const std::string& message) {
  Effects effects;
  Case* item = FindCase(ref);
  if (item == nullptr || IsFinal(item->state) || item->open_epoch != epoch) return effects;
  DropLease(now, *item, 0, effects);  // nothing ran
  EndCase(now, *item, State::kFailed, reason, message, effects);
  Settle(now, ref.job, effects);
  Dispatch(now, effects);
  return effects;
}

Effects Scheduler::Tick(double now) {
  Effects effects;
  std::vector<CaseRef> expired;
  for (const auto& [epoch, running] : leases_) {
    if (FindCase(running.ref)->lease->expires_at <= now) expired.push_back(running.ref);
  }
  for (const CaseRef& ref : expired) {
    LoseLease(now, *FindCase(ref), Loss::kExpired, effects);
    Settle(now, ref.job, effects);
  }
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    const std::string name = deadlines_.begin()->second;
    deadlines_.erase(deadlines_.begin());
    for (Case& item : jobs_.at(name).entry.cases) {
      EndCase(now, item, State::kExpired, "QUEUE_TIMEOUT",
              "no device was free for it before its queue timeout ran out", effects);
    }
    Settle(now, name, effects);
  }
  Dispatch(now, effects);
  if (now >= next_prune_at_) {
    next_prune_at_ = now + kPruneSeconds;
    PruneDeaths(now);
    for (const std::string& owner : usage_.Prune(now)) effects.usages.push_back({owner, 0, now});
  }
  return effects;
}

}  // namespace kbench::scheduler
