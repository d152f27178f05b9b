// The queue for people.
#include "server/scheduler/view.h"

#include <algorithm>

#include "server/scheduler/scheduler.h"

namespace kbench::scheduler {

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

QueueView Scheduler::View(double now, int most) const {
  QueueView view;
  for (const auto& [id, worker] : workers_) {
    DeviceView& device = view.devices.emplace_back();
    device.device = worker.entry.device;
    device.worker_id = id;
    device.running = RunningOn(device.device);
    if (device.running) {
      const JobState& job = jobs_.at(device.running->job);
      const Case& item = job.entry.cases[static_cast<std::size_t>(device.running->index)];
      device.started_at = item.started_at;
      device.yields = {true, std::max(now, item.started_at + item.estimate_low),
                       std::max(now, item.started_at + item.estimate_high)};
    }
    for (const LineKey& key : line_) {
      if (MatchesSome(jobs_.at(std::get<2>(key)), worker.entry)) ++device.waiting_jobs;
    }
  }
  view.waiting_jobs = static_cast<int>(line_.size());
  view.waiting_cases = QueuedCases();
  for (const LineKey& key : line_) {
    if (static_cast<int>(view.waiting.size()) >= most) break;
    const JobState& job = jobs_.at(std::get<2>(key));
    WaitingJob& waiting = view.waiting.emplace_back();
    waiting.job = job.entry.name;
    waiting.owner = job.entry.owner;
    waiting.priority_class = job.entry.priority_class;
    waiting.hold = job.entry.hold;
    waiting.next_case = *job.queued.begin();
    waiting.waiting_cases = static_cast<int>(job.queued.size());
    waiting.position = QueuePosition(job.entry.name);
    waiting.reason = WaitReason(now, job.entry.name);
    for (const int index : job.queued) {
      waiting.estimated_seconds += job.entry.cases[static_cast<std::size_t>(index)].estimate;
    }
  }
  return view;
}

Place Scheduler::PlaceOf(double now, const std::string& job) const {
  Place place;
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return place;
  place.position = QueuePosition(job);
  for (const Case& item : found->second.entry.cases) {
    if (!IsFinal(item.state)) place.estimated_seconds += item.estimate;
  }
  if (found->second.entry.state != State::kQueued) return place;
  place.start = {WaitReason(now, job).empty(), now, now + place.position * 60.0};
  return place;
}

Explained Scheduler::Explain(double now, const std::string& job, int most) const {
  Explained explained;
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return explained;
  if (found->second.queued.empty() ||
      found->second.open > static_cast<int>(found->second.queued.size())) {
    explained.rule = Rule::kRunning;
    return explained;
  }
  explained.reason = WaitReason(now, job);
  explained.rule = explained.reason.empty() ? Rule::kNext : Rule::kUnavailable;
  for (const LineKey& key : line_) {
    const JobState& other = jobs_.at(std::get<2>(key));
    if (other.entry.name == job) break;
    if (!Compete(found->second, other)) continue;
    ++explained.ahead_jobs;
    explained.ahead.insert(
        explained.ahead.begin(),
        {other.entry.name, *other.queued.begin(), other.entry.owner, other.entry.priority_class,
         other.entry.cases[static_cast<std::size_t>(*other.queued.begin())].estimate,
         Rule::kOwnOrder});
    if (static_cast<int>(explained.ahead.size()) > most) explained.ahead.pop_back();
  }
  if (explained.ahead_jobs > 0) explained.rule = Rule::kOwnOrder;
  return explained;
}

}  // namespace kbench::scheduler
