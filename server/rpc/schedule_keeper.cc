#include "server/rpc/schedule_keeper.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdlib>
#include <future>
#include <set>
#include <utility>

#include "proto/support/error.h"
#include "server/rpc/validate.h"

namespace kbench::server {
namespace {

using kbench::v1::JobSpec;
using kbench::v1::Schedule;

constexpr char kKind[] = "schedule";
constexpr char kSkips[] = "schedule-skips";      // how many runs were skipped, in decimal
constexpr char kAwaited[] = "schedule-awaited";  // schedules::Book::AwaitedOf, seconds
constexpr char kLabel[] = "schedule";            // on its jobs
constexpr std::size_t kMostNameBytes = 64;

absl::Status NotFound(const std::string& name) {
  return MakeError(absl::StatusCode::kNotFound,
                   "there is no schedule " + name + "; `kbench-client suite schedules` lists them",
                   {.reason = "NO_SCHEDULE"});
}

absl::Status CheckName(const std::string& name) {
  const bool plain =
      !name.empty() && name.size() <= kMostNameBytes &&
      name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_") == std::string::npos;
  if (plain) return absl::OkStatus();
  return FieldError("schedule.name", "BAD_SCHEDULE",
                    "a schedule's name has 1 to 64 small letters, digits, '-' and '_'");
}

}  // namespace

ScheduleKeeper::ScheduleKeeper(store::Store& store, Coordinator& coordinator, Clock& clock,
                               double look_seconds)
    : store_(store), coordinator_(coordinator), clock_(clock), look_seconds_(look_seconds) {}

ScheduleKeeper::~ScheduleKeeper() { Stop(); }

absl::Status ScheduleKeeper::Start() {
  KB_ASSIGN_OR_RETURN(const auto records, store_.ReadRecords(kKind));
  KB_ASSIGN_OR_RETURN(const auto skips, store_.ReadRecords(kSkips));
  KB_ASSIGN_OR_RETURN(const auto times, store_.ReadRecords(kAwaited));
  std::map<std::string, std::int64_t> skipped;
  for (const store::Record& record : skips)
    skipped[record.key] = std::atoll(record.payload.c_str());
  std::map<std::string, double> awaited;
  for (const store::Record& record : times) awaited[record.key] = std::atof(record.payload.c_str());
  {
    MutexLock lock(mutex_);
    for (const store::Record& record : records) {
      Schedule schedule;
      absl::Status status = absl::DataLossError("it cannot be read");
      if (schedule.ParseFromString(record.payload)) {
        status = book_.Restore(schedule, Now(), skipped[record.key], awaited[record.key]);
      }
      if (!status.ok()) {
        spdlog::error("the schedule {} does not run: {}", record.key, MessageOf(status));
      }
    }
  }
  NoteEnds();
  thread_ = std::thread([this] { Loop(); });
  return absl::OkStatus();
}

void ScheduleKeeper::Stop() {
  {
    MutexLock lock(mutex_);
    stop_ = true;
  }
  wake_.NotifyAll();
  if (thread_.joinable()) thread_.join();
}

void ScheduleKeeper::Loop() {
  for (;;) {
    {
      MutexLock lock(mutex_);
      if (!stop_) wake_.WaitFor(mutex_, look_seconds_);
      if (stop_) return;
    }
    Look();
  }
}

absl::Status ScheduleKeeper::CheckJobs(Schedule& schedule) {
  if (schedule.jobs().empty() || schedule.jobs_size() > kMostScheduledJobs) {
    return FieldError("schedule.jobs", "BAD_SCHEDULE",
                      fmt::format("a schedule has 1 to {} jobs, not {}", kMostScheduledJobs,
                                  schedule.jobs_size()));
  }
  int cases = 0;
  for (const JobSpec& spec : schedule.jobs()) cases += spec.cases_size();
  if (cases > kMostScheduledCases) {
    return FieldError(
        "schedule.jobs", "BAD_SCHEDULE",
        fmt::format("a schedule has at most {} cases, not {}", kMostScheduledCases, cases));
  }
  for (JobSpec& spec : *schedule.mutable_jobs()) {
    kbench::v1::SubmitJobRequest request;
    *request.mutable_spec() = spec;
    request.set_owner(schedule.owner());
    request.set_validate_only(true);
    KB_ASSIGN_OR_RETURN(const kbench::v1::Job job, coordinator_.SubmitAndWait(request));
    for (int i = 0; i < std::min(spec.cases_size(), job.spec().cases_size()); ++i) {
      spec.mutable_cases(i)->set_shape(job.spec().cases(i).shape());
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Schedule> ScheduleKeeper::Set(Schedule schedule) {
  KB_RETURN_IF_ERROR(CheckName(schedule.name()));
  for (JobSpec& spec : *schedule.mutable_jobs()) {
    spec.set_priority_class("batch");
    (*spec.mutable_labels())[kLabel] = schedule.name();
  }
  KB_RETURN_IF_ERROR(CheckJobs(schedule));
  const MutexLock one_at_a_time(change_mutex_);
  const std::string name = schedule.name();
  {
    MutexLock lock(mutex_);
    if (book_.Find(name) == nullptr && book_.All().size() >= kMostSchedules) {
      return MakeError(absl::StatusCode::kResourceExhausted,
                       fmt::format("there are {} schedules, which is the most; delete one first",
                                   kMostSchedules),
                       {.reason = "TOO_MANY_SCHEDULES"});
    }
    KB_RETURN_IF_ERROR(book_.Put(std::move(schedule), Now()).status());
  }
  KB_RETURN_IF_ERROR(Keep(name));
  wake_.NotifyAll();
  MutexLock lock(mutex_);
  return *book_.Find(name);
}

absl::StatusOr<Schedule> ScheduleKeeper::Pause(const std::string& name, bool paused) {
  const MutexLock one_at_a_time(change_mutex_);
  {
    MutexLock lock(mutex_);
    if (book_.Pause(name, paused, Now()) == nullptr) return NotFound(name);
  }
  KB_RETURN_IF_ERROR(Keep(name));
  MutexLock lock(mutex_);
  return *book_.Find(name);
}

absl::Status ScheduleKeeper::Delete(const std::string& name) {
  const MutexLock one_at_a_time(change_mutex_);
  {
    MutexLock lock(mutex_);
    if (!book_.Remove(name)) return NotFound(name);
  }
  return Keep(name);
}

std::string ScheduleKeeper::OwnerOf(const std::string& name) {
  MutexLock lock(mutex_);
  const Schedule* found = book_.Find(name);
  return found == nullptr ? "" : found->owner();
}

double ScheduleKeeper::IntervalOf(const std::string& name, const kbench::v1::CellKey& cell) {
  const auto measures = [&cell](const kbench::v1::CaseSpec& one) {
    const bool mode = one.mode() == cell.mode() || (one.mode().empty() && cell.mode() == "cold");
    return mode && one.kernel() == cell.kernel() && one.dtype() == cell.dtype() &&
           one.shape() == cell.shape();
  };
  MutexLock lock(mutex_);
  const Schedule* found = book_.Find(name);
  if (found == nullptr || found->paused()) return 0;
  for (const JobSpec& spec : found->jobs()) {
    if (std::any_of(spec.cases().begin(), spec.cases().end(), measures)) {
      return found->interval_seconds();
    }
  }
  return 0;
}

kbench::v1::JobState ScheduleKeeper::StateOf(const kbench::v1::ScheduledRun& run) {
  using kbench::v1::JobState;
  // The first of these that one of its jobs is in.
  constexpr JobState kOrder[] = {kbench::v1::JOB_STATE_RUNNING,   kbench::v1::JOB_STATE_QUEUED,
                                 kbench::v1::JOB_STATE_FAILED,    kbench::v1::JOB_STATE_EXPIRED,
                                 kbench::v1::JOB_STATE_CANCELLED, kbench::v1::JOB_STATE_SUCCEEDED};
  std::set<JobState> states;
  for (const std::string& job : run.jobs()) {
    const absl::StatusOr<kbench::v1::Job> known = store_.GetJob(job, false);
    if (known.ok()) states.insert(known->state());
  }
  for (const JobState state : kOrder) {
    if (states.count(state) > 0) return state;
  }
  return kbench::v1::JOB_STATE_UNSPECIFIED;
}

std::vector<Schedule> ScheduleKeeper::All() {
  std::vector<Schedule> all;
  {
    MutexLock lock(mutex_);
    for (const Schedule* one : book_.All()) all.push_back(*one);
  }
  for (Schedule& one : all) {
    // What a list has room for: on which devices, and what became of the newest run.
    std::set<std::string> devices;
    for (const JobSpec& spec : one.jobs()) devices.insert(spec.device());
    one.clear_jobs();
    for (const std::string& device : devices) one.add_jobs()->set_device(device);
    if (one.runs_size() > 0) one.mutable_runs(0)->set_state(StateOf(one.runs(0)));
  }
  return all;
}

absl::Status ScheduleKeeper::Keep(const std::string& name) {
  store::Batch batch;
  {
    MutexLock lock(mutex_);
    const Schedule* schedule = book_.Find(name);
    batch.records.push_back(
        {kKind, name, schedule == nullptr ? "" : schedule->SerializeAsString()});
    const std::int64_t skipped = book_.SkippedOf(name);
    batch.records.push_back({kSkips, name, skipped == 0 ? "" : std::to_string(skipped)});
    const double awaited = book_.AwaitedOf(name);
    batch.records.push_back({kAwaited, name, awaited == 0 ? "" : std::to_string(awaited)});
    if (schedule == nullptr) ended_.erase(name);
  }
  std::promise<absl::Status> promise;
  store_.Commit(std::move(batch),
                [&promise](const absl::Status& status, const auto&) { promise.set_value(status); });
  KB_RETURN_IF_ERROR(promise.get_future().get());
  on_change_();
  return absl::OkStatus();
}

bool ScheduleKeeper::HasEnded(const std::string& job) {
  const absl::StatusOr<kbench::v1::Job> known = store_.GetJob(job, false);
  // One that has gone ends nothing any more.
  return !known.ok() || known->has_end_time();
}

void ScheduleKeeper::Run(const schedules::Due& due) {
  Schedule schedule;
  {
    MutexLock lock(mutex_);
    const Schedule* found = book_.Find(due.name);
    if (found == nullptr) return;
    schedule = *found;
  }
  std::vector<std::string> jobs;
  const absl::Status may = may_submit_(schedule.owner());
  std::string failure = may.ok() ? "" : MessageOf(may);
  for (int i = 0; i < schedule.jobs_size() && failure.empty(); ++i) {
    kbench::v1::SubmitJobRequest request;
    *request.mutable_spec() = schedule.jobs(i);
    request.set_owner(schedule.owner());
    // The same run twice, after a crash in between, is the same jobs.
    request.set_request_id(fmt::format("schedule-{}-{:.0f}-{}", due.name, due.due, i));
    const absl::StatusOr<kbench::v1::Job> job = coordinator_.SubmitAndWait(request);
    if (job.ok()) {
      jobs.push_back(job->name());
    } else {
      failure = MessageOf(job.status());
    }
  }
  if (!failure.empty()) spdlog::warn("the schedule {} was not run: {}", due.name, failure);
  MutexLock lock(mutex_);
  book_.Ran(due.name, due.due, jobs, failure);
}

std::set<std::string> ScheduleKeeper::DevicesOf(const Schedule& schedule) {
  std::set<std::string> selectors;
  for (const JobSpec& spec : schedule.jobs()) selectors.insert(spec.device());
  std::set<std::string> devices;
  for (const std::string& selector : selectors) {
    for (std::string& name : coordinator_.DevicesFor(selector, schedule.owner())) {
      devices.insert(std::move(name));
    }
  }
  return devices;
}

std::vector<metrics::ScheduleState> ScheduleKeeper::Series() {
  std::vector<metrics::ScheduleState> series;
  std::vector<Schedule> schedules;
  {
    MutexLock lock(mutex_);
    for (const Schedule* one : book_.All()) {
      const auto ended = ended_.find(one->name());
      schedules.push_back(*one);
      series.push_back({.name = one->name(),
                        .suite = one->suite(),
                        .devices = {},
                        .next = static_cast<double>(one->next_time().seconds()),
                        .last_ended = ended == ended_.end() ? 0 : ended->second.ended,
                        .awaited = book_.AwaitedOf(one->name()),
                        .interval_seconds = one->interval_seconds(),
                        .skipped = book_.SkippedOf(one->name())});
    }
  }
  for (std::size_t i = 0; i < series.size(); ++i) {
    const std::set<std::string> devices = DevicesOf(schedules[i]);
    series[i].devices.assign(devices.begin(), devices.end());
  }
  return series;
}

void ScheduleKeeper::NoteAside() {
  std::vector<Schedule> schedules;
  {
    MutexLock lock(mutex_);
    for (const Schedule* one : book_.All()) schedules.push_back(*one);
  }
  if (schedules.empty()) return;
  const std::set<std::string> aside = coordinator_.DevicesSetAside();
  for (const Schedule& one : schedules) {
    const std::set<std::string> devices = DevicesOf(one);
    const bool none_left = !devices.empty() && std::includes(aside.begin(), aside.end(),
                                                             devices.begin(), devices.end());
    bool again = false;
    {
      MutexLock lock(mutex_);
      if (none_left) {
        book_.Await(one.name(), Now());
        aside_.insert(one.name());
      } else {
        again = aside_.erase(one.name()) > 0;
      }
    }
    if (!again) continue;
    const MutexLock one_at_a_time(change_mutex_);
    const absl::Status kept = Keep(one.name());
    if (!kept.ok()) spdlog::error("{} is not stored: {}", one.name(), MessageOf(kept));
  }
}

void ScheduleKeeper::Look() {
  NoteAside();
  SubmitDue();
  NoteEnds();
}

double ScheduleKeeper::EndOf(const kbench::v1::ScheduledRun& run) {
  double end = 0;
  for (const std::string& job : run.jobs()) {
    const absl::StatusOr<kbench::v1::Job> known = store_.GetJob(job, false);
    if (!known.ok()) continue;  // it has gone, and ends nothing any more
    if (!known->has_end_time()) return 0;
    end = std::max(end, static_cast<double>(ToMicros(known->end_time())) * 1e-6);
  }
  return end;
}

void ScheduleKeeper::NoteEnds() {
  std::vector<std::pair<std::string, kbench::v1::ScheduledRun>> unknown;  // newest first
  {
    MutexLock lock(mutex_);
    for (const Schedule* one : book_.All()) {
      const double known = ended_[one->name()].due;
      for (const auto& run : one->runs()) {
        if (static_cast<double>(run.due_time().seconds()) <= known) break;
        if (run.skipped().empty()) unknown.emplace_back(one->name(), run);
      }
    }
  }
  for (const auto& [name, run] : unknown) {
    const auto due = static_cast<double>(run.due_time().seconds());
    {
      MutexLock lock(mutex_);
      if (ended_[name].due > due) continue;  // a newer one has ended
    }
    const double end = EndOf(run);
    MutexLock lock(mutex_);
    if (end > 0 && book_.Find(name) != nullptr) ended_[name] = {due, end};
  }
}

void ScheduleKeeper::SubmitDue() {
  const MutexLock one_at_a_time(change_mutex_);
  // Jobs are looked up in the store, which must not happen under the book's lock.
  std::vector<std::string> unended;
  std::vector<schedules::Due> dues;
  {
    MutexLock lock(mutex_);
    const std::optional<double> next = book_.NextTime();
    if (!next || *next > Now()) return;
    for (const Schedule* one : book_.All()) {
      for (const auto& run : one->runs()) {
        unended.insert(unended.end(), run.jobs().begin(), run.jobs().end());
      }
    }
  }
  std::erase_if(unended, [&](const std::string& job) { return HasEnded(job); });
  {
    MutexLock lock(mutex_);
    dues = book_.Take(Now(), [&](const std::string& job) {
      return std::find(unended.begin(), unended.end(), job) == unended.end();
    });
  }
  for (const schedules::Due& due : dues) {
    if (due.skipped.empty()) {
      Run(due);
    } else {
      spdlog::warn("the schedule {} is skipped: {}", due.name, due.skipped);
    }
    const absl::Status kept = Keep(due.name);
    if (!kept.ok()) spdlog::error("the run of {} is not stored: {}", due.name, MessageOf(kept));
  }
}

}  // namespace kbench::server
