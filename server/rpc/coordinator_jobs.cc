// What clients ask for, but for submissions (coordinator_submits.cc).
#include <algorithm>
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

void Coordinator::Decorate(const std::vector<Job*>& jobs) {
  MutexLock lock(mutex_);
  DecorateLocked(jobs);
}

void Coordinator::DecorateLocked(const std::vector<Job*>& jobs) {
  std::vector<std::string> names;
  for (const Job* job : jobs) names.push_back(HasEnded(*job) ? "" : job->name());
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
  Decorate({&job});
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
