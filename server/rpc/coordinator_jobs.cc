// What clients ask for.
#include <algorithm>
#include <cmath>
#include <future>
#include <set>
#include <utility>

#include "fmt/format.h"
#include "kernels/catalog/catalog.h"
#include "proto/support/error.h"
#include "proto/support/ids.h"
#include "server/history/compare.h"
#include "server/rpc/convert.h"
#include "server/rpc/coordinator.h"
#include "server/rpc/validate.h"
#include "server/rpc/visible.h"

namespace kbench::server {

using kbench::v1::Job;
using kbench::v1::JobEvent;
using kbench::v1::JobState;
using kbench::v1::SubmitJobRequest;

namespace {

bool HasEnded(const Job& job) {
  return job.state() != JobState::JOB_STATE_QUEUED && job.state() != JobState::JOB_STATE_RUNNING;
}

std::shared_ptr<const JobEvent> SnapshotOf(const Job& job, std::int64_t now_micros) {
  auto event = std::make_shared<JobEvent>();
  *event->mutable_time() = ToTimestamp(now_micros);
  event->set_sequence(job.last_sequence());
  *event->mutable_snapshot() = job;
  return event;
}

std::shared_ptr<const JobEvent> FinalOf(const Job& job) {
  auto event = std::make_shared<JobEvent>();
  *event->mutable_time() = job.end_time();
  event->set_sequence(job.last_sequence());
  *event->mutable_final() = job;
  return event;
}

// A hold is one case too.
int CasesOf(const Job& job) { return std::max(1, job.spec().cases_size()); }

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

}  // namespace

absl::Status Coordinator::CheckServing() {
  if (draining_) {
    return MakeError(absl::StatusCode::kUnavailable, "the coordinator is stopping; try again",
                     {.reason = "DRAINING", .retry_after_seconds = 2});
  }
  if (broken_) {
    return MakeError(absl::StatusCode::kUnavailable,
                     "the coordinator cannot write to its store; see its log, and try again",
                     {.reason = "STORE_DOWN", .retry_after_seconds = 5});
  }
  return absl::OkStatus();
}

std::string Coordinator::WhyNotServing() {
  MutexLock lock(mutex_);
  return MessageOf(CheckServing());
}

absl::StatusOr<Job> Coordinator::JobOfRequest(const SubmitJobRequest& request,
                                              const std::string& digest, bool& found) {
  found = false;
  if (request.request_id().empty() || request.validate_only()) return Job();
  KB_ASSIGN_OR_RETURN(const auto known, store_.FindRequest(request.request_id()));
  if (!known.has_value()) return Job();
  found = true;
  if (known->digest != digest) {
    return MakeError(absl::StatusCode::kAlreadyExists,
                     "request id " + request.request_id() + " made " + known->job +
                         " from another request; use a new id for a new request",
                     {.reason = "REQUEST_ID_REUSED", .metadata = {{"job", known->job}}});
  }
  return Get(known->job);
}

absl::StatusOr<Job> Coordinator::Submit(const SubmitJobRequest& request) {
  const std::string digest = RequestDigest(request);
  bool found = false;
  KB_ASSIGN_OR_RETURN(Job known, JobOfRequest(request, digest, found));
  if (found) return known;
  Job job;
  {
    MutexLock lock(mutex_);
    KB_RETURN_IF_ERROR(CheckServing());
    const ValidateContext context{DeviceContextFor(request.owner()), options_.max_hold_seconds};
    KB_ASSIGN_OR_RETURN(*job.mutable_spec(), ValidateSubmit(request, context));
    KB_RETURN_IF_ERROR(poison_.Check(job.spec(), Now()));
  }
  job.set_owner(request.owner());
  job.set_state(JobState::JOB_STATE_QUEUED);
  *job.mutable_create_time() = ToTimestamp(std::llround(Now() * 1e6));
  if (request.validate_only()) return job;
  job.set_name(JobName(RandomId(8)));
  const std::vector<store::Measured> reused = FindReusable(job);
  const absl::Status stored = StoreJob(request, digest, job, reused);
  if (stored.code() == absl::StatusCode::kAlreadyExists) {
    // The same request came twice at once.
    KB_ASSIGN_OR_RETURN(Job twin, JobOfRequest(request, digest, found));
    if (found) return twin;
  }
  KB_RETURN_IF_ERROR(stored);
  if (!reused.empty()) return Get(job.name());
  // As it was stored: nothing of it need be read back.
  for (int i = 0; i < job.spec().cases_size(); ++i) {
    kbench::v1::CaseStatus& item = *job.add_cases();
    item.set_index(i);
    *item.mutable_spec() = job.spec().cases(i);
    item.set_state(JobState::JOB_STATE_QUEUED);
  }
  Decorate(job);
  return job;
}

absl::Status Coordinator::StoreJob(const SubmitJobRequest& request, const std::string& digest,
                                   const Job& job, const std::vector<store::Measured>& reused) {
  std::promise<absl::Status> promise;
  {
    MutexLock lock(mutex_);
    KB_RETURN_IF_ERROR(CheckServing());
    KB_RETURN_IF_ERROR(limits_.Reserve(Now(), job.owner(), CasesOf(job), BudgetSeconds(job.spec()),
                                       scheduler_.QueuedCases()));
    store::NewJob created;
    created.job = job;
    created.request_id = request.request_id();
    created.request_digest = digest;
    created.entry =
        ToJobEntry(job, static_cast<double>(ToMicros(job.create_time())) * 1e-6, next_order_++);
    scheduler::JobEntry entry = created.entry;
    const CaseResults results = TakeReused(reused, Now(), entry);
    Step step;
    step.may_fail = true;
    step.done = [this, job, entry, results, &promise](const absl::Status& status) {
      {
        MutexLock done_lock(mutex_);
        limits_.Release(job.owner(), CasesOf(job));
      }
      if (status.ok()) JobIsDurable(job, entry, results);
      promise.set_value(status);
    };
    step.batch.new_jobs.push_back(std::move(created));
    Commit(std::move(step));
  }
  return promise.get_future().get();
}

void Coordinator::JobIsDurable(const Job& job, scheduler::JobEntry entry,
                               const CaseResults& results) {
  metrics_.JobSubmitted();
  MutexLock lock(mutex_);
  if (broken_) return;  // the store gives it back at the recovery
  active_[job.name()] = {specs_.Get(job.spec().SerializeAsString()),
                         static_cast<double>(ToMicros(job.create_time())) * 1e-6, job.owner()};
  limits_.JobBegan(job.owner(), CasesOf(job));
  sharing_.Add(entry, job.spec());
  FillEstimates(job.spec(), entry);
  scheduler::Effects effects = scheduler_.AddJob(Now(), std::move(entry));
  if (effects.empty()) return;
  Step step;
  AddEffects(std::move(effects), &results, step);
  Commit(std::move(step));
}

void Coordinator::Decorate(Job& job) { Decorate(std::vector<Job*>{&job}); }

void Coordinator::Decorate(const std::vector<Job*>& jobs) {
  std::vector<std::string> names;
  for (const Job* job : jobs) names.push_back(HasEnded(*job) ? "" : job->name());
  MutexLock lock(mutex_);
  const std::vector<scheduler::Place> places = scheduler_.PlacesOf(Now(), names);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    Job& job = *jobs[i];
    if (HasEnded(job)) continue;
    for (kbench::v1::CaseStatus& status : *job.mutable_cases()) FillPlace(status);
    job.set_queue_position(places[i].position);
    job.set_estimated_seconds(places[i].estimated_seconds);
    if (places[i].start.known) SetRange(places[i].start, job.mutable_start_estimate());
    const std::string& reason = places[i].reason;
    if (reason.empty()) continue;
    job.set_reason(reason);
    const std::string blocked = BlockedText(job.name(), reason);
    job.set_message(blocked.empty() ? WaitMessage(reason) : blocked);
  }
}

absl::StatusOr<Job> Coordinator::Get(const std::string& name) {
  KB_ASSIGN_OR_RETURN(Job job, store_.GetJob(JobName(name), true));
  Decorate(job);
  if (HasEnded(job)) history::BoundFalseDiscoveries(&job);  // before, the family is not complete
  return job;
}

absl::StatusOr<kbench::v1::ListJobsResponse> Coordinator::List(
    const kbench::v1::ListJobsRequest& request) {
  store::JobFilter filter;
  KB_ASSIGN_OR_RETURN(filter.page_size, PageSize(request.page_size()));
  KB_RETURN_IF_ERROR(CheckStateFilter(request.state()));
  filter.page_token = request.page_token();
  filter.state = request.state();
  filter.owner = request.owner();
  KB_ASSIGN_OR_RETURN(store::JobPage page, store_.ListJobs(filter));
  kbench::v1::ListJobsResponse response;
  response.set_next_page_token(page.next_page_token);
  std::vector<Job*> jobs;
  for (Job& job : page.jobs) jobs.push_back(&job);
  Decorate(jobs);
  for (Job& job : page.jobs) *response.add_jobs() = std::move(job);
  return response;
}

absl::StatusOr<Job> Coordinator::Cancel(const std::string& name) {
  const std::string job = JobName(name);
  std::promise<absl::Status> promise;
  bool active = false;
  {
    MutexLock lock(mutex_);
    KB_RETURN_IF_ERROR(CheckServing());
    active = scheduler_.FindJob(job) != nullptr;
    if (active) {
      Step step;
      step.done = [&promise](const absl::Status& status) { promise.set_value(status); };
      AddEffects(scheduler_.CancelJob(Now(), job), nullptr, step);
      Commit(std::move(step));
    }
  }
  if (active) KB_RETURN_IF_ERROR(promise.get_future().get());
  return Get(job);
}

void Coordinator::Watch(const std::string& name, std::shared_ptr<Watcher> watcher) {
  // On the thread that publishes: between the snapshot and the next event nothing is missed.
  executor_.Post(
      [this, job = JobName(name), watcher = std::move(watcher)] { StartWatch(job, watcher); });
}

void Coordinator::StartWatch(const std::string& name, const std::shared_ptr<Watcher>& watcher) {
  absl::StatusOr<Job> job = Get(name);
  if (!job.ok()) {
    watcher->Close(job.status());
    return;
  }
  HideEnvironment(*job);  // one event goes to all who watch, whoever they are
  watcher->Deliver(SnapshotOf(*job, clock_.WallMicros()));
  if (HasEnded(*job)) {
    watcher->Deliver(FinalOf(*job));
    watcher->Close(absl::OkStatus());
    return;
  }
  hub_.Add(name, watcher);
}

void Coordinator::Unwatch(const std::string& name, const Watcher* watcher) {
  hub_.Remove(JobName(name), watcher);
}

kbench::v1::ListKernelsResponse Coordinator::Kernels() {
  kbench::v1::ListKernelsResponse response;
  const std::vector<kbench::v1::Device> devices = Devices();
  for (const KernelEntry& entry : Catalog()) {
    kbench::v1::KernelInfo& kernel = *response.add_kernels();
    kernel.set_name(entry.name);
    kernel.set_summary(entry.summary);
    kernel.set_size_help(entry.size_help);
    for (const DType dtype : entry.dtypes) kernel.add_dtypes(Info(dtype).name);
    std::map<std::string, kbench::v1::ImplementationInfo*> known;
    for (const kbench::v1::Device& device : devices) {
      for (const kbench::v1::ImplementationInfo& offered : device.implementations()) {
        if (offered.kernel() != entry.name) continue;
        kbench::v1::ImplementationInfo*& merged = known[offered.name()];
        if (merged == nullptr) {
          merged = kernel.add_implementations();
          *merged = offered;
          continue;
        }
        std::set<std::string> dtypes(merged->dtypes().begin(), merged->dtypes().end());
        for (const std::string& dtype : offered.dtypes()) {
          if (dtypes.insert(dtype).second) merged->add_dtypes(dtype);
        }
      }
    }
  }
  for (const kbench::v1::Device& device : devices) {
    if (device.state() == "OFFLINE") continue;
    for (const kbench::v1::AbsentFramework& one : device.absent()) {
      kbench::v1::AbsentOnDevice& absent = *response.add_absent();
      absent.set_device(device.name());
      *absent.mutable_framework() = one;
    }
  }
  return response;
}

}  // namespace kbench::server
