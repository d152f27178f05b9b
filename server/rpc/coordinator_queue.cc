// What people ask of the queue: snapshots, why a job waits, and where the watched jobs stand.
#include <algorithm>
#include <cmath>
#include <utility>

#include "fmt/format.h"
#include "proto/support/error.h"
#include "proto/support/ids.h"
#include "server/rpc/convert.h"
#include "server/rpc/coordinator.h"
#include "server/rpc/explain.h"
#include "server/rpc/validate.h"

namespace kbench::server {

using kbench::v1::GetQueueRequest;
using kbench::v1::QueueSnapshot;
using kbench::v1::QueueUpdate;

namespace {

constexpr int kMostAhead = 20;
constexpr std::size_t kMostNameBytes = 256;
// A place whose estimate has not changed is told again after this long, so that a watcher's words
// do not grow old.
constexpr double kTellAgainSeconds = 5;
// Telling watchers takes at most a tenth of all time, however many they are.
constexpr double kRestFactor = 9;
// An estimate that moved by less of what is left is the same one.
constexpr double kSameShare = 0.1;
constexpr double kSameSeconds = 2;

double SecondsOf(const google::protobuf::Timestamp& time) {
  return static_cast<double>(ToMicros(time)) * 1e-6;
}

bool SameRange(const kbench::v1::TimeRange& a, const kbench::v1::TimeRange& b, double now) {
  if (a.has_latest() != b.has_latest()) return false;
  const double left = std::max(0.0, SecondsOf(a.latest()) - now);
  const double most = std::max(kSameSeconds, kSameShare * left);
  return std::abs(SecondsOf(a.earliest()) - SecondsOf(b.earliest())) <= most &&
         std::abs(SecondsOf(a.latest()) - SecondsOf(b.latest())) <= most;
}

bool SamePlace(const QueueUpdate& a, const QueueUpdate& b, double now) {
  return a.position() == b.position() && a.reason() == b.reason() &&
         SameRange(a.start_estimate(), b.start_estimate(), now);
}

bool HasEnded(const kbench::v1::Job& job) {
  return job.state() != kbench::v1::JOB_STATE_QUEUED &&
         job.state() != kbench::v1::JOB_STATE_RUNNING;
}

}  // namespace

QueueSources Coordinator::Sources() {
  QueueSources sources;
  sources.devices = &devices_;
  sources.job = [this](const std::string& name) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    const auto active = active_.find(name);
    if (active == active_.end()) return JobFacts();
    return JobFacts{scheduler_.FindJob(name), active->second.spec.get()};
  };
  sources.progress = [this](const scheduler::CaseRef& ref) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    const auto found = progress_.find(ref);
    return found == progress_.end() ? nullptr : &found->second;
  };
  return sources;
}

absl::StatusOr<Coordinator::QueueFilter> Coordinator::FilterOf(const GetQueueRequest& request) {
  QueueFilter filter;
  if (request.most_waiting() < 0) {
    return FieldError(
        "most_waiting", "OUT_OF_RANGE",
        fmt::format("a queue shows 0 (50) to 1000 waiting jobs, not {}", request.most_waiting()));
  }
  if (request.owner().size() > kMostNameBytes || request.device().size() > kMostNameBytes) {
    return FieldError(request.owner().size() > kMostNameBytes ? "owner" : "device", "OUT_OF_RANGE",
                      fmt::format("a name has at most {} bytes", kMostNameBytes));
  }
  if (request.most_waiting() > 0) filter.most = std::min(request.most_waiting(), 1000);
  filter.jobs.owner = request.owner();
  if (request.device().empty()) return filter;
  for (const kbench::v1::Device* device : devices_.Matching(devices_.Resolve(request.device()))) {
    filter.jobs.devices.insert(device->name());
  }
  if (!filter.jobs.devices.empty()) return filter;
  // Soon after a start the device's worker may not have come back yet.
  if (Now() - started_at_ < options_.known_again_seconds) {
    filter.jobs.devices.insert(request.device());
    return filter;
  }
  const std::vector<std::string> known = devices_.Names();
  const std::string names = fmt::format("{}", fmt::join(known, ", "));
  return MakeError(
      absl::StatusCode::kNotFound,
      known.empty()
          ? "no device is known: no worker has connected yet"
          : fmt::format("there is no device {}; known devices: {}", request.device(), names),
      {.reason = "UNKNOWN_DEVICE",
       .metadata = {{"devices", names},
                    {"nearest",
                     fmt::format("{}", fmt::join(NearestWords(request.device(), known), ", "))}}});
}

absl::StatusOr<QueueSnapshot> Coordinator::Queue(const GetQueueRequest& request) {
  MutexLock lock(mutex_);
  KB_RETURN_IF_ERROR(CheckServing());
  KB_ASSIGN_OR_RETURN(const QueueFilter filter, FilterOf(request));
  return LookAt(filter, nullptr);
}

QueueSnapshot Coordinator::LookAt(const QueueFilter& filter, const scheduler::QueueView* whole) {
  const double now = Now();
  const QueueSources sources = Sources();
  if (whole != nullptr && filter.jobs.all()) {
    return MakeQueueSnapshot(*whole, sources, filter.jobs, filter.most, now);
  }
  return MakeQueueSnapshot(scheduler_.View(now, filter.most, filter.jobs), sources, filter.jobs,
                           filter.most, now);
}

std::vector<QueueSnapshot> Coordinator::Look(const std::vector<GetQueueRequest>& requests) {
  std::vector<QueueSnapshot> snapshots;
  std::vector<QueueFilter> filters;
  MutexLock lock(mutex_);
  int most = 0;
  for (const GetQueueRequest& request : requests) {
    // Its device may have become unknown since: then nothing of it is left to see.
    const auto filter = FilterOf(request);
    filters.push_back(filter.ok() ? *filter
                                  : QueueFilter{0, {request.owner(), {request.device()}}});
    if (filters.back().jobs.all()) most = std::max(most, filters.back().most);
  }
  const scheduler::QueueView whole =
      most > 0 ? scheduler_.View(Now(), most) : scheduler::QueueView();
  for (const QueueFilter& filter : filters) snapshots.push_back(LookAt(filter, &whole));
  return snapshots;
}

void Coordinator::WatchQueue(const GetQueueRequest& request,
                             std::shared_ptr<QueueWatcher> watcher) {
  absl::Status status;
  {
    MutexLock lock(mutex_);
    status = CheckServing();
    if (status.ok()) status = FilterOf(request).status();
  }
  if (!status.ok()) {
    watcher->Close(status);
    return;
  }
  if (queue_hub_.Add(request, std::move(watcher))) timer_wake_.NotifyAll();
}

void Coordinator::UnwatchQueue(const QueueWatcher* watcher) { queue_hub_.Remove(watcher); }

void Coordinator::PublishQueue() {
  const double begin = clock_.SteadySeconds();
  {
    MutexLock lock(mutex_);
    if (broken_) return;  // the queue is in the store, and not here
  }
  if (begin < queue_rest_until_) return;
  queue_hub_.Tick(begin, [this](const auto& requests) { return Look(requests); });
  queue_rest_until_ = RestAfter(begin);
}

QueueUpdate Coordinator::PlaceOf(const std::string& job) {
  QueueUpdate update;
  const scheduler::Place place = scheduler_.PlaceOf(Now(), job);
  update.set_position(place.position);
  if (place.start.known) SetRange(place.start, update.mutable_start_estimate());
  update.set_reason(place.reason);
  const std::string blocked = BlockedText(job, update.reason());
  update.set_message(blocked.empty() ? WaitMessage(update.reason()) : blocked);
  return update;
}

void Coordinator::PublishPositions() {
  const double begin = clock_.SteadySeconds();
  if (begin < places_rest_until_) return;
  std::map<std::string, ToldPlace> places;
  for (const std::string& job : hub_.WatchedJobs()) {
    const double now = Now();
    ToldPlace place{{}, now};
    {
      MutexLock lock(mutex_);  // for one job at a time: others wait for it
      place.update = PlaceOf(job);
    }
    const auto old = places_.find(job);
    const bool same = old != places_.end() && SamePlace(old->second.update, place.update, now);
    const bool stale =
        place.update.has_start_estimate() && same && now - old->second.at >= kTellAgainSeconds;
    if (same && !stale) {
      places[job] = old->second;
      continue;
    }
    kbench::v1::JobEvent event;
    *event.mutable_queue() = place.update;
    *event.mutable_time() = ToTimestamp(std::llround(now * 1e6));
    hub_.PublishEphemeral(job, event);
    places[job] = std::move(place);
  }
  places_ = std::move(places);
  places_rest_until_ = RestAfter(begin);
}

double Coordinator::RestAfter(double begin) const {
  const double end = clock_.SteadySeconds();
  return end + kRestFactor * (end - begin);
}

bool Coordinator::NoteProgress(const kbench::v1::AttemptProgress& progress) {
  const kbench::v1::AttemptId& id = progress.id();
  MutexLock lock(mutex_);
  const scheduler::JobEntry* job = scheduler_.FindJob(id.job());
  if (job == nullptr || id.case_index() < 0 ||
      id.case_index() >= static_cast<int>(job->cases.size())) {
    return false;
  }
  const scheduler::Case& item = job->cases[static_cast<std::size_t>(id.case_index())];
  if (item.state != scheduler::State::kRunning || item.open_epoch != id.epoch()) return false;
  Note(id.epoch(), progress.progress(), Now(), progress_[item.ref]);
  return true;
}

absl::StatusOr<kbench::v1::Explanation> Coordinator::Explain(const std::string& name) {
  KB_ASSIGN_OR_RETURN(kbench::v1::Job job, store_.GetJob(JobName(name), false));
  Decorate({&job});
  if (HasEnded(job)) return ExplainEnded(job);
  {
    MutexLock lock(mutex_);
    KB_RETURN_IF_ERROR(CheckServing());
    if (scheduler_.FindJob(job.name()) != nullptr) {
      const double now = Now();
      ExplainSources sources;
      sources.now = now;
      sources.explained = scheduler_.Explain(now, job.name(), kMostAhead);
      sources.fits = scheduler_.Fits(now, job.name());
      sources.used_by = [this, now](const std::string& owner) ABSL_NO_THREAD_SAFETY_ANALYSIS {
        return scheduler_.UsedSeconds(now, owner);
      };
      sources.queue = Sources();
      sources.running_on = [this](const std::string& device) ABSL_NO_THREAD_SAFETY_ANALYSIS {
        return scheduler_.RunningOn(device);
      };
      return ExplainOpen(job, sources);
    }
  }
  // It has ended between the two looks.
  KB_ASSIGN_OR_RETURN(job, store_.GetJob(JobName(name), false));
  return ExplainEnded(job);
}

}  // namespace kbench::server
