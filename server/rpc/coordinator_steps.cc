// From the scheduler's effects to the store, and from there to the far ends.
#include <utility>

#include "fmt/format.h"
#include "proto/support/error.h"
#include "server/rpc/convert.h"
#include "server/rpc/coordinator.h"
#include "server/rpc/selection.h"
#include "server/rpc/visible.h"
#include "spdlog/spdlog.h"

namespace kbench::server {

using kbench::v1::CoordinatorMessage;
using kbench::v1::JobEvent;

void Coordinator::AddEffects(scheduler::Effects effects, const CaseResults* results, Step& step) {
  if (effects.expired_leases > 0) {
    step.on_durable.push_back([this, n = effects.expired_leases] { metrics_.LeasesExpired(n); });
  }
  for (const auto& transition : effects.cases) AddCase(transition.state, results, step);
  for (const auto& job : effects.jobs) AddJobTransition(job, step);
  for (auto& usage : effects.usages) step.batch.usages.push_back(std::move(usage));
  for (const auto& cancel : effects.cancels) {
    const auto link = LinkOf(cancel.worker_id);
    if (link == nullptr) continue;
    CoordinatorMessage message;
    *message.mutable_cancel()->mutable_id() = ToAttemptId(cancel.ref, cancel.attempt, cancel.epoch);
    message.mutable_cancel()->set_finished(cancel.finished);
    step.sends.emplace_back(link, std::move(message));
  }
  for (const auto& assign : effects.assigns) {
    if (AddAssign(assign, step)) continue;
    AddEffects(scheduler_.FailCase(Now(), assign.ref, assign.epoch, "NO_IMPLEMENTATION",
                                   "the device has no implementation for this case"),
               nullptr, step);
  }
}

// What somebody who asks why a job took so long looks for in the log.
void LogTrouble(const scheduler::Case& item) {
  if (item.reason == "POISON") {
    spdlog::warn("{} case {} is POISON: {}", item.ref.job, item.ref.index, item.message);
  } else if (item.reason == "INFRA") {
    spdlog::warn("attempt {} of {} case {} on {} is lost{}: {}", item.attempts, item.ref.job,
                 item.ref.index, item.device,
                 scheduler::IsFinal(item.state) ? "" : ", it waits again", item.message);
  }
}

void Coordinator::AddCase(const scheduler::Case& item, const CaseResults* results, Step& step) {
  const auto job = active_.find(item.ref.job);
  if (job == active_.end()) return;
  progress_.erase(item.ref);  // of another attempt
  store::NewEvent event;
  event.job = item.ref.job;
  *event.event.mutable_time() = ToTimestamp(clock_.WallMicros());
  *event.event.mutable_case_changed() = ToCaseStatus(item, job->second.spec->cases(item.ref.index));
  FillPlace(*event.event.mutable_case_changed());
  const auto found = results == nullptr ? CaseResults::const_iterator() : results->find(item.ref);
  if (results != nullptr && found != results->end() && scheduler::IsFinal(item.state)) {
    for (const auto& result : found->second) {
      *event.event.mutable_case_changed()->add_results() = result;
    }
  }
  if (scheduler::IsFinal(item.state)) {
    sharing_.Remove(item.ref, *job->second.spec);
    limits_.CaseEnded(job->second.owner);
    const bool killed = item.reason == "POISON" && item.worker_deaths > 0;
    if (killed) poison_.Remember(item.ref, *job->second.spec, item.ended_at);
  }
  LogTrouble(item);
  step.batch.events.push_back(std::move(event));
  step.batch.cases.push_back({item});
}

void Coordinator::AddJobTransition(const scheduler::JobTransition& job, Step& step) {
  step.batch.jobs.push_back(job);
  if (!scheduler::IsFinal(job.state)) return;
  store::NewEvent event;
  event.job = job.job;
  *event.event.mutable_time() = ToTimestamp(clock_.WallMicros());
  event.event.mutable_final();
  step.batch.events.push_back(std::move(event));
  const double created_at = active_[job.job].created_at;
  const double queue_seconds = job.started_at > 0 ? job.started_at - created_at : -1;
  step.on_durable.push_back(
      [this, state = job.state, queue_seconds, run_seconds = job.ended_at - job.started_at] {
        metrics_.JobCompleted(state, queue_seconds, run_seconds);
      });
  limits_.JobEnded(active_[job.job].owner);
  active_.erase(job.job);
  hold_lapses_.erase(job.job);
}

bool Coordinator::AddAssign(const scheduler::AssignTo& assign, Step& step) {
  const auto job = active_.find(assign.ref.job);
  const kbench::v1::Device* device = devices_.OfWorker(assign.worker_id);
  if (job == active_.end() || device == nullptr) return false;
  const kbench::v1::JobSpec& spec = *job->second.spec;
  const kbench::v1::CaseSpec& item = spec.cases(assign.ref.index);
  if (spec.has_hold()) return AddHold(assign, spec, step);
  Selection selection =
      SelectImplementations({spec.implementations().begin(), spec.implementations().end()}, *device,
                            item, {spec.environments().begin(), spec.environments().end()});
  if (selection.implementations.empty()) return false;
  const auto link = LinkOf(assign.worker_id);
  if (link == nullptr) return true;  // it has just left: the lease is lost when it comes back
  CoordinatorMessage message;
  kbench::v1::Assign& out = *message.mutable_assign();
  *out.mutable_id() = ToAttemptId(assign.ref, assign.attempt, assign.epoch);
  *out.mutable_case_() = item;
  for (std::string& name : selection.implementations) out.add_implementations(std::move(name));
  for (std::string& name : selection.requested) out.add_requested(std::move(name));
  for (auto& [name, lower] : selection.lower) {
    kbench::v1::Fallback& fallback = *out.add_fallbacks();
    fallback.set_implementation(name);
    fallback.mutable_lower()->Assign(lower.begin(), lower.end());
  }
  *out.mutable_policy() = spec.policy();
  out.set_baseline(selection.baseline);
  out.set_more_of_job(assign.more_of_job);
  step.sends.emplace_back(link, std::move(message));
  return true;
}

bool Coordinator::AddHold(const scheduler::AssignTo& assign, const kbench::v1::JobSpec& spec,
                          Step& step) {
  HoldAssigned(assign.ref.job);
  const auto link = LinkOf(assign.worker_id);
  if (link == nullptr) return true;
  CoordinatorMessage message;
  kbench::v1::Assign& out = *message.mutable_assign();
  *out.mutable_id() = ToAttemptId(assign.ref, assign.attempt, assign.epoch);
  *out.mutable_case_() = spec.cases(assign.ref.index);
  *out.mutable_hold() = spec.hold();
  step.sends.emplace_back(link, std::move(message));
  return true;
}

void Coordinator::CommitEffects(scheduler::Effects effects) {
  if (effects.empty()) return;
  Step step;
  AddEffects(std::move(effects), nullptr, step);
  Commit(std::move(step));
}

void Coordinator::Commit(Step step) {
  // The events are needed twice: by the store now, by the watchers then.
  step.events = step.batch.events;
  store::Batch batch = std::move(step.batch);
  auto shared = std::make_shared<Step>(std::move(step));
  store_.Commit(std::move(batch),
                [this, shared, generation = generation_](
                    const absl::Status& status, const std::vector<std::int64_t>& sequences) {
                  OnCommitted(shared, generation, status, sequences);
                });
}

void Coordinator::OnCommitted(const std::shared_ptr<Step>& step, std::int64_t generation,
                              const absl::Status& status,
                              const std::vector<std::int64_t>& sequences) {
  if (!status.ok()) {
    if (!step->may_fail) OnStoreFailure(status, generation);
    if (step->done) step->done(status);
    return;
  }
  bool current = false;
  if (!step->sends.empty()) {
    MutexLock lock(mutex_);
    current = generation == generation_;
  }
  if (current) {
    for (auto& [link, message] : step->sends) link->Send(std::move(message));
  }
  for (const auto& tell : step->on_durable) tell();
  std::vector<store::NewEvent> events = std::move(step->events);
  for (std::size_t i = 0; i < events.size(); ++i) events[i].event.set_sequence(sequences[i]);
  if (!events.empty()) {
    executor_.Post(
        [this, events = std::move(events)]() mutable { PublishEvents(std::move(events)); });
  }
  if (step->done) step->done(absl::OkStatus());
}

void Coordinator::PublishEvents(std::vector<store::NewEvent> events) {
  for (store::NewEvent& event : events) {
    if (!hub_.IsWatched(event.job)) continue;
    if (event.event.has_final()) {
      absl::StatusOr<kbench::v1::Job> job = Get(event.job);
      if (!job.ok()) {
        hub_.Finish(event.job, job.status());
        continue;
      }
      HideEnvironment(*job);
      *event.event.mutable_final() = std::move(*job);
    }
    const bool final = event.event.has_final();
    hub_.Publish(event.job, std::make_shared<const JobEvent>(std::move(event.event)));
    if (final) hub_.Finish(event.job, absl::OkStatus());
  }
}

}  // namespace kbench::server
