// Why a job is where it is, and the order of the whole line.
#include <algorithm>
#include <array>
#include <queue>
#include <set>
#include <tuple>

#include "server/scheduler/scheduler.h"

namespace kbench::scheduler {
namespace {

// A job of a lane, as far as the merge of all lanes has come.
struct Next {
  Stage stage = Stage::kBatch;
  double value = 0;
  std::int64_t serial = 0;
  const Lane* lane = nullptr;
  std::int64_t index = 0;
  friend bool operator>(const Next& a, const Next& b) {
    return std::tie(a.stage, a.value, a.serial) > std::tie(b.stage, b.value, b.serial);
  }
};
using Heap = std::priority_queue<Next, std::vector<Next>, std::greater<>>;

Next NextOf(const Lane& lane, std::int64_t index, double base) {
  Next next;
  next.lane = &lane;
  next.index = index;
  next.serial = lane.owner->serial;
  next.stage = index == 0 ? lane.stage : Line::StageOf(lane.priority_class);
  next.value =
      next.stage == Stage::kPromoted ? lane.since : base + lane.jobs.At(index).before.seconds;
  return next;
}

// Of the interactive lanes and the others, whose turn it is.
Heap& Choose(Heap& interactive, Heap& others, bool turn) {
  if (interactive.empty()) return others;
  if (others.empty() || turn) return interactive;
  return interactive.top() > others.top() ? others : interactive;
}

}  // namespace

bool Scheduler::Passes(const Lane& lane, const ViewFilter& filter) const {
  if (!filter.owner.empty() && lane.owner->name != filter.owner) return false;
  const auto& workers = pools_[static_cast<std::size_t>(lane.pool)];
  return filter.devices.empty() ||
         std::any_of(workers.begin(), workers.end(), [&](const WorkerState* worker) {
           return filter.devices.count(worker->entry.device) > 0;
         });
}

std::vector<const JobState*> Scheduler::InOrder(int most, const ViewFilter& filter) const {
  Field field;
  for (const auto& [id, lane] : line_.lanes()) field.Add(*lane);
  const double scale = usage_.Scale(0);
  std::array<Heap, 2> heaps;
  const auto push = [&](const Lane& lane, std::int64_t index) {
    const bool interactive = lane.priority_class == PriorityClass::kInteractive;
    heaps[interactive ? 0 : 1].push(NextOf(lane, index, field.BaseOf(lane, scale)));
  };
  for (const Lane* lane : field.lanes) {
    if (Passes(*lane, filter)) push(*lane, 0);
  }
  std::vector<const JobState*> jobs;
  std::set<const JobState*> seen;  // one with several parts counts where it comes first
  bool turn = std::any_of(workers_.begin(), workers_.end(),
                          [](const auto& worker) { return !worker.second.interactive_last; });
  while (static_cast<int>(jobs.size()) < most && (!heaps[0].empty() || !heaps[1].empty())) {
    Heap& heap = Choose(heaps[0], heaps[1], turn);
    turn = &heap == &heaps[1];
    const Next next = heap.top();
    heap.pop();
    const JobState* job = next.lane->jobs.At(next.index).job;
    if (seen.insert(job).second) jobs.push_back(job);
    if (next.index + 1 < next.lane->jobs.Total().jobs) push(*next.lane, next.index + 1);
  }
  return jobs;
}

std::vector<Ahead> Scheduler::AheadOf(const Standing& standing, int most) {
  // Of every rival the last job that goes first is the nearest: merged from there backwards.
  struct Last {
    Stage stage = Stage::kBatch;
    double value = 0;
    const Rival* rival = nullptr;
    std::int64_t index = 0;
    LoadTree::Entry entry;
    bool operator<(const Last& other) const {
      return std::tie(stage, value) < std::tie(other.stage, other.value);
    }
  };
  std::priority_queue<Last> heap;
  const auto push = [&](const Rival& rival, std::int64_t index) {
    if (index < 0) return;
    const LoadTree::Entry entry = rival.lane->jobs.At(index);
    heap.push({rival.stage, rival.value + entry.before.seconds, &rival, index, entry});
  };
  for (const Rival& rival : standing.rivals) push(rival, rival.ahead.jobs - 1);
  std::vector<Ahead> ahead;
  while (!heap.empty() && static_cast<int>(ahead.size()) < most) {
    const Last last = heap.top();
    heap.pop();
    const JobEntry& job = last.entry.job->entry;
    const double left = last.rival->ahead.seconds - last.entry.before.seconds;
    ahead.push_back({job.name, *last.entry.job->queued.begin(), job.owner, job.priority_class,
                     std::min(last.entry.load.seconds, left), last.rival->rule});
    push(*last.rival, last.index - 1);
  }
  return ahead;
}

Explained Scheduler::Explain(double now, const std::string& job, int most) const {
  Explained explained;
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return explained;
  const JobState& state = found->second;
  explained.used_seconds = usage_.Seconds(now, *state.owner);
  if (!Waits(state)) {
    explained.rule = Rule::kRunning;
    explained.device = state.pinned_device;
    return explained;
  }
  explained.reason = ReasonOf(now, state);
  Fields fields;
  const Standing standing = StandingOf(state, fields);
  explained.position = RunningFor(state) + static_cast<int>(standing.cases);
  explained.ahead = AheadOf(standing, most);
  double most_seconds = -1;
  std::map<Rule, double> seconds;
  for (const Rival& rival : standing.rivals) {
    explained.ahead_jobs += static_cast<int>(rival.ahead.jobs);
    seconds[rival.rule] += rival.share * rival.ahead.seconds;
  }
  for (const auto& [rule, sum] : seconds) {
    if (sum <= most_seconds) continue;
    most_seconds = sum;
    explained.rule = rule;
  }
  if (standing.part != nullptr) {
    explained.waiting_since = standing.part->lane->since;
    explained.promoted_at = standing.part->lane->since + options_.bound_seconds;
    DeviceFor(now, standing.part->pool, explained);
  }
  if (explained.reason.empty()) {
    explained.start = StartOf(now, standing);
  } else {
    explained.rule = Rule::kUnavailable;
  }
  return explained;
}

void Scheduler::DeviceFor(double now, int pool, Explained& explained) const {
  // Where it would start: a device that is free, else the one that will be soonest.
  double soonest = 0;
  Rule busy = Rule::kNext;
  for (const WorkerState* worker : pools_[static_cast<std::size_t>(pool)]) {
    if (!worker->holds_pins) continue;
    double free_at = now;
    Rule rule = Rule::kNext;
    if (const auto running = RunningOn(worker->entry.device)) {
      const JobState& job = jobs_.at(running->job);
      free_at = job.entry.cases[static_cast<std::size_t>(running->index)].started_at +
                job.entry.cases[static_cast<std::size_t>(running->index)].estimate;
      rule = job.entry.hold ? Rule::kHeld : Rule::kDeviceBusy;
    }
    if (!explained.device.empty() && free_at >= soonest) continue;
    explained.device = worker->entry.device;
    soonest = free_at;
    busy = rule;
  }
  if (explained.ahead_jobs == 0) explained.rule = busy;
}

}  // namespace kbench::scheduler
