// A submission: checked under the lock, stored, and answered from the store's callback. It holds no
// thread meanwhile. What it may have to read from the store is read on a thread for that.
#include <algorithm>
#include <cmath>
#include <future>
#include <utility>

#include "proto/support/error.h"
#include "proto/support/ids.h"
#include "server/rpc/convert.h"
#include "server/rpc/coordinator.h"
#include "server/rpc/sharing.h"
#include "server/rpc/validate.h"

namespace kbench::server {

using kbench::v1::Job;
using kbench::v1::JobState;
using kbench::v1::SubmitJobRequest;

struct Coordinator::Submission {
  SubmitJobRequest request;
  Submitted done;
  std::string digest;
  Job job;  // as it is stored, then as it is answered
  scheduler::JobEntry entry;
  // By case: those that end at once, with the results of earlier runs. Mostly empty.
  std::vector<store::Measured> reused;
};

namespace {

// A hold is one case too.
int CasesOf(const Job& job) { return std::max(1, job.spec().cases_size()); }

double CreatedAt(const Job& job) { return static_cast<double>(ToMicros(job.create_time())) * 1e-6; }

// Ends the cases of a new job that earlier runs answer; their results.
std::map<scheduler::CaseRef, std::vector<kbench::v1::Result>> TakeReused(
    const std::vector<store::Measured>& reused, double now, scheduler::JobEntry& job) {
  std::map<scheduler::CaseRef, std::vector<kbench::v1::Result>> results;
  for (std::size_t i = 0; i < reused.size() && i < job.cases.size(); ++i) {
    if (reused[i].results.empty()) continue;
    scheduler::Case& item = job.cases[i];
    item.state = scheduler::State::kSucceeded;
    item.results_of = reused[i].ref.job;
    item.results_case = reused[i].ref.index;
    item.device = reused[i].device;
    item.ended_at = now;
    results[item.ref] = reused[i].results;
  }
  return results;
}

// As the job was stored: nothing of it need be read back.
void AddQueuedCases(Job& job) {
  for (int i = 0; i < job.spec().cases_size(); ++i) {
    kbench::v1::CaseStatus& item = *job.add_cases();
    item.set_index(i);
    *item.mutable_spec() = job.spec().cases(i);
    item.set_state(JobState::JOB_STATE_QUEUED);
  }
}

}  // namespace

absl::StatusOr<std::optional<Job>> Coordinator::MadeBefore(const Submission& call) {
  const std::string& id = call.request.request_id();
  KB_ASSIGN_OR_RETURN(const auto known, store_.FindRequest(id));
  if (!known.has_value()) return std::nullopt;
  if (known->digest != call.digest) {
    return MakeError(absl::StatusCode::kAlreadyExists,
                     "request id " + id + " made " + known->job +
                         " from another request; use a new id for a new request",
                     {.reason = "REQUEST_ID_REUSED", .metadata = {{"job", known->job}}});
  }
  KB_ASSIGN_OR_RETURN(Job job, Get(known->job));
  return job;
}

void Coordinator::Submit(SubmitJobRequest request, Submitted done) {
  const auto call = std::make_shared<Submission>();
  call->digest = RequestDigest(request);
  call->request = std::move(request);
  call->done = std::move(done);
  call->job.set_name(JobName(RandomId(8)));
  bool reads = false;
  absl::Status status;
  {
    MutexLock lock(mutex_);
    status = CheckSubmission(*call);
    reads = status.ok() && MostResultAge(call->job.spec()) > 0;
    const bool stores = status.ok() && !call->request.validate_only() && !reads;
    if (stores) status = StoreSubmission(call);
  }
  if (!status.ok()) return Refuse(call, status);
  if (call->request.validate_only()) {
    call->job.clear_name();
    return call->done(std::move(call->job));
  }
  if (!reads) return;
  lookups_.Post([this, call] {
    call->reused = FindReusable(call->job);
    absl::Status stored;
    {
      MutexLock lock(mutex_);
      stored = CheckServing();
      if (stored.ok()) stored = StoreSubmission(call);
    }
    if (!stored.ok()) Refuse(call, stored);
  });
}

absl::StatusOr<Job> Coordinator::SubmitAndWait(SubmitJobRequest request) {
  std::promise<absl::StatusOr<Job>> promise;
  Submit(std::move(request),
         [&promise](absl::StatusOr<Job> job) { promise.set_value(std::move(job)); });
  return promise.get_future().get();
}

void Coordinator::Refuse(const std::shared_ptr<Submission>& call, const absl::Status& status) {
  if (call->request.request_id().empty() || call->request.validate_only()) {
    return call->done(status);
  }
  lookups_.Post([this, call, status] {
    absl::StatusOr<std::optional<Job>> before = MadeBefore(*call);
    if (!before.ok()) return call->done(before.status());
    if (!before->has_value()) return call->done(status);
    call->done(**std::move(before));
  });
}

absl::Status Coordinator::CheckSubmission(Submission& call) {
  KB_RETURN_IF_ERROR(CheckServing());
  Job& job = call.job;
  const ValidateContext context{DeviceContextFor(call.request.owner()), options_.max_hold_seconds};
  KB_ASSIGN_OR_RETURN(*job.mutable_spec(), ValidateSubmit(call.request, context));
  KB_RETURN_IF_ERROR(poison_.Check(job.spec(), Now()));
  job.set_owner(call.request.owner());
  job.set_state(JobState::JOB_STATE_QUEUED);
  *job.mutable_create_time() = ToTimestamp(std::llround(Now() * 1e6));
  return absl::OkStatus();
}

absl::Status Coordinator::StoreSubmission(const std::shared_ptr<Submission>& call) {
  const Job& job = call->job;
  KB_RETURN_IF_ERROR(limits_.Reserve(Now(), job.owner(), CasesOf(job), BudgetSeconds(job.spec()),
                                     scheduler_.QueuedCases()));
  call->entry = ToJobEntry(job, CreatedAt(job), next_order_++);
  store::NewJob created;
  created.job = job;
  created.request_id = call->request.request_id();
  created.request_digest = call->digest;
  created.entry = call->entry;
  Step step;
  step.may_fail = true;
  step.done = [this, call](const absl::Status& status) { OnSubmissionStored(call, status); };
  step.batch.new_jobs.push_back(std::move(created));
  Commit(std::move(step));
  return absl::OkStatus();
}

void Coordinator::OnSubmissionStored(const std::shared_ptr<Submission>& call,
                                     const absl::Status& status) {
  Job& job = call->job;
  if (!status.ok()) {
    const bool known = status.code() == absl::StatusCode::kAlreadyExists;
    {
      MutexLock lock(mutex_);
      limits_.Release(job.owner(), CasesOf(job));
      if (known) limits_.GiveBack(job.owner());
    }
    return known ? Refuse(call, status) : call->done(status);
  }
  metrics_.JobSubmitted();
  if (!call->reused.empty()) {
    {
      MutexLock lock(mutex_);
      JobIsDurable(*call);
    }
    return lookups_.Post([this, call] { call->done(Get(call->job.name())); });
  }
  AddQueuedCases(job);
  {
    MutexLock lock(mutex_);
    JobIsDurable(*call);
    DecorateLocked({&job});
  }
  call->done(std::move(job));
}

void Coordinator::JobIsDurable(Submission& call) {
  const Job& job = call.job;
  limits_.Release(job.owner(), CasesOf(job));
  if (broken_) return;  // the store gives it back at the recovery
  const CaseResults results = TakeReused(call.reused, Now(), call.entry);
  active_[job.name()] = {specs_.Get(job.spec().SerializeAsString()), CreatedAt(job), job.owner()};
  limits_.JobBegan(job.owner(), CasesOf(job));
  sharing_.Add(call.entry, job.spec());
  FillEstimates(job.spec(), call.entry);
  scheduler::Effects effects = scheduler_.AddJob(Now(), std::move(call.entry));
  if (effects.empty()) return;
  Step step;
  AddEffects(std::move(effects), &results, step);
  Commit(std::move(step));
}

}  // namespace kbench::server
