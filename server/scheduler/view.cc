// The queue for people.
#include "server/scheduler/view.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "server/scheduler/scheduler.h"

namespace kbench::scheduler {
namespace {

// How far all estimates may be off together.
constexpr double kCommonError = 0.1;

}  // namespace

const char* RuleName(Rule rule) {
  switch (rule) {
    case Rule::kNone:
      return "";
    case Rule::kRunning:
      return "RUNNING";
    case Rule::kNext:
      return "NEXT";
    case Rule::kClass:
      return "CLASS";
    case Rule::kOwnerUsage:
      return "OWNER_USAGE";
    case Rule::kOwnOrder:
      return "OWN_ORDER";
    case Rule::kPromoted:
      return "PROMOTED_OTHER";
    case Rule::kDeviceBusy:
      return "DEVICE_BUSY";
    case Rule::kHeld:
      return "HELD";
    case Rule::kUnavailable:
      return "UNAVAILABLE";
  }
  return "";
}

namespace {

double SecondsOf(const JobState& job) {
  double seconds = 0;
  for (const Part& part : job.parts) seconds += part.load.seconds;
  return seconds;
}

}  // namespace

Window Scheduler::YieldOf(double now, const Case& item) const {
  return {true, std::max(now, item.started_at + item.estimate_low),
          std::max(now, item.started_at + item.estimate_high)};
}

DeviceView Scheduler::ViewOf(double now, const WorkerState& worker) const {
  DeviceView device;
  device.device = worker.entry.device;
  device.worker_id = worker.entry.worker_id;
  device.running = RunningOn(device.device);
  if (device.running) {
    const JobState& job = jobs_.at(device.running->job);
    const Case& item = job.entry.cases[static_cast<std::size_t>(device.running->index)];
    device.started_at = item.started_at;
    device.yields = YieldOf(now, item);
  }
  for (const int pool : worker.pools) {
    device.waiting_jobs += static_cast<int>(line_.JobsIn(pool));
  }
  return device;
}

QueueView Scheduler::View(double now, int most, const ViewFilter& filter) const {
  QueueView view;
  for (const auto& [id, worker] : workers_) view.devices.push_back(ViewOf(now, worker));
  view.waiting_jobs = waiting_jobs_;
  view.waiting_cases = queued_cases_;
  Fields fields;
  for (const JobState* job : InOrder(most, filter)) {
    WaitingJob& waiting = view.waiting.emplace_back();
    waiting.job = job->entry.name;
    waiting.owner = job->entry.owner;
    waiting.priority_class = job->entry.priority_class;
    waiting.hold = job->entry.hold;
    waiting.next_case = *job->queued.begin();
    waiting.waiting_cases = static_cast<int>(job->queued.size());
    waiting.estimated_seconds = SecondsOf(*job);
    Place place = PlaceIn(now, *job, fields);
    waiting.position = place.position;
    waiting.start = place.start;
    waiting.promoted = place.promoted;
    waiting.reason = std::move(place.reason);
  }
  for (const auto& [name, owner] : usage_.owners()) {
    if (owner.running_cases == 0 && owner.waiting_cases == 0) continue;
    view.owners.push_back(
        {name, usage_.Seconds(now, owner), owner.running_cases, owner.waiting_cases});
  }
  std::stable_sort(
      view.owners.begin(), view.owners.end(),
      [](const OwnerView& a, const OwnerView& b) { return a.used_seconds < b.used_seconds; });
  return view;
}

Place Scheduler::PlaceOf(double now, const std::string& job) const {
  return PlacesOf(now, {job}).front();
}

std::vector<Place> Scheduler::PlacesOf(double now, const std::vector<std::string>& jobs) const {
  Fields fields;  // the same for most of the jobs
  std::vector<Place> places;
  for (const std::string& job : jobs) {
    const auto found = jobs_.find(job);
    places.push_back(found == jobs_.end() ? Place() : PlaceIn(now, found->second, fields));
  }
  return places;
}

Place Scheduler::PlaceIn(double now, const JobState& state, Fields& fields) const {
  Place place;
  for (const Case& item : state.entry.cases) {
    if (!IsFinal(item.state)) place.estimated_seconds += item.estimate;
  }
  if (!Waits(state)) return place;
  const Standing standing = StandingOf(state, fields);
  place.position = RunningFor(state) + static_cast<int>(standing.cases);
  place.promoted = IsPromoted(state);
  place.reason = ReasonOf(now, state);
  if (place.reason.empty()) place.start = StartOf(now, standing);
  return place;
}

bool Scheduler::IsPromoted(const JobState& job) const {
  return std::any_of(job.parts.begin(), job.parts.end(), [&](const Part& part) {
    return part.lane->stage == Stage::kPromoted && part.lane->jobs.At(0).job == &job;
  });
}

namespace {

// When a device gets free for what comes after `seconds` of work, from when each of them is free.
double Level(std::vector<double> free_at, double seconds) {
  std::sort(free_at.begin(), free_at.end());
  for (std::size_t i = 0; i + 1 < free_at.size(); ++i) {
    const double room = (free_at[i + 1] - free_at[i]) * static_cast<double>(i + 1);
    if (seconds <= room) return free_at[i] + seconds / static_cast<double>(i + 1);
    seconds -= room;
  }
  return free_at.back() + seconds / static_cast<double>(free_at.size());
}

}  // namespace

Window Scheduler::StartOf(double now, const Standing& standing) const {
  std::vector<double> earliest;
  std::vector<double> latest;
  if (standing.part == nullptr) return {};
  for (const WorkerState* worker : pools_[static_cast<std::size_t>(standing.part->pool)]) {
    if (!worker->holds_pins) continue;
    Window free{true, now, now};
    if (const auto running = RunningOn(worker->entry.device)) {
      free = YieldOf(now,
                     jobs_.at(running->job).entry.cases[static_cast<std::size_t>(running->index)]);
    }
    earliest.push_back(free.earliest);
    latest.push_back(free.latest);
  }
  if (earliest.empty()) return {};
  double seconds = 0;
  double below = 0;
  double above = 0;
  for (const Rival& rival : standing.rivals) {
    seconds += rival.share * rival.ahead.seconds;
    below += rival.share * rival.ahead.below_squared;
    above += rival.share * rival.ahead.above_squared;
  }
  // Errors of single cases cancel out, what the estimates have in common does not.
  const double low = std::max(0.0, seconds - std::max(std::sqrt(below), kCommonError * seconds));
  const double high = seconds + std::max(std::sqrt(above), kCommonError * seconds);
  return {true, Level(earliest, low), Level(latest, high)};
}

}  // namespace kbench::scheduler
