#include "server/scheduler/line.h"

#include <algorithm>
#include <limits>

namespace kbench::scheduler {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

}  // namespace

Stage Line::StageOf(PriorityClass priority_class) {
  switch (priority_class) {
    case PriorityClass::kInteractive:
      return Stage::kInteractive;
    case PriorityClass::kCi:
      return Stage::kCi;
    case PriorityClass::kBatch:
      return Stage::kBatch;
  }
  return Stage::kInteractive;
}

int Line::SlotOf(Stage stage, PriorityClass priority_class) {
  const int other = priority_class == PriorityClass::kInteractive ? 0 : 1;
  switch (stage) {
    case Stage::kPromoted:
      return other;
    case Stage::kInteractive:
      return 2 + other;
    case Stage::kCi:
      return 4;
    case Stage::kBatch:
      return 5;
  }
  return 5;
}

Line::PoolLine& Line::PoolOf(int pool) {
  const auto index = static_cast<std::size_t>(pool);
  if (index >= pools_.size()) pools_.resize(index + 1);
  return pools_[index];
}

Lane& Line::LaneOf(JobState& job, int pool) {
  auto& lane = lanes_[{job.owner->serial, job.entry.priority_class, pool}];
  if (!lane) {
    lane = std::make_unique<Lane>();
    lane->owner = job.owner;
    lane->priority_class = job.entry.priority_class;
    lane->pool = pool;
    job.owner->lanes.push_back(lane.get());
  }
  return *lane;
}

void Line::Take(Lane& lane) {
  PoolOf(lane.pool).slots[SlotOf(lane.stage, lane.priority_class)].erase({lane.key, &lane});
  aging_.erase({lane.next_stage_at, &lane});
}

void Line::Place(double now, Lane& lane) {
  lane.since = std::min(now, std::max(lane.jobs.Total().since, lane.served_at));
  const Stage own = StageOf(lane.priority_class);
  lane.stage = own;
  lane.next_stage_at = kNever;
  const double bound_at = lane.since + options_.bound_seconds;
  if (now >= bound_at) {
    lane.stage = Stage::kPromoted;
  } else {
    lane.next_stage_at = bound_at;
    double rises_at = lane.since + options_.aging_seconds;
    while (lane.stage > Stage::kInteractive && now >= rises_at) {
      lane.stage = static_cast<Stage>(static_cast<int>(lane.stage) - 1);
      rises_at += options_.aging_seconds;
    }
    if (lane.stage > Stage::kInteractive) {
      lane.next_stage_at = std::min(lane.next_stage_at, rises_at);
    }
  }
  lane.key = {lane.stage == Stage::kPromoted ? lane.since : lane.owner->weighted(),
              lane.owner->serial, lane.priority_class};
  PoolOf(lane.pool).slots[SlotOf(lane.stage, lane.priority_class)].insert({lane.key, &lane});
  aging_.insert({lane.next_stage_at, &lane});
}

void Line::Drop(Lane& lane) {
  std::erase(lane.owner->lanes, &lane);
  lanes_.erase({lane.owner->serial, lane.priority_class, lane.pool});
}

void Line::Put(double now, JobState& job, std::vector<Part> parts) {
  std::vector<Part> old = std::move(job.parts);
  for (Part& part : parts) {
    Lane& lane = LaneOf(job, part.pool);
    part.lane = &lane;
    const auto same = std::find_if(old.begin(), old.end(),
                                   [&](const Part& other) { return other.lane == &lane; });
    const bool stood = same != old.end();
    const bool unchanged = stood && same->load == part.load;
    if (stood) old.erase(same);
    if (unchanged) continue;
    if (!stood) ++PoolOf(part.pool).jobs;
    if (!lane.jobs.empty()) Take(lane);
    lane.jobs.Put(job.key, &job, part.load);
    Place(now, lane);
  }
  for (const Part& part : old) {
    --PoolOf(part.pool).jobs;
    Take(*part.lane);
    part.lane->jobs.Erase(job.key);
    if (part.lane->jobs.empty()) {
      Drop(*part.lane);
    } else {
      Place(now, *part.lane);
    }
  }
  job.parts = std::move(parts);
}

void Line::Served(double now, Owner& owner, PriorityClass priority_class,
                  const std::vector<int>& pools) {
  for (Lane* lane : owner.lanes) {
    if (lane->priority_class != priority_class ||
        std::find(pools.begin(), pools.end(), lane->pool) == pools.end()) {
      continue;
    }
    Take(*lane);
    lane->served_at = std::max(lane->served_at, now);
    Place(now, *lane);
  }
}

void Line::UsageChanged(double now, Owner& owner) {
  for (Lane* lane : owner.lanes) {
    Take(*lane);
    Place(now, *lane);
  }
}

void Line::Age(double now) {
  while (!aging_.empty() && aging_.begin()->first <= now) {
    Lane& lane = *aging_.begin()->second;
    Take(lane);
    Place(now, lane);
  }
}

void Line::Rebuild(double now) {
  for (const auto& [key, lane] : lanes_) {
    Take(*lane);
    Place(now, *lane);
  }
}

const Lane* Line::First(const Lane* a, const Slot& slot) {
  if (slot.empty()) return a;
  const Lane* b = slot.begin()->second;
  if (a == nullptr || b->key < a->key) return b;
  if (a->key < b->key) return a;
  // The same owner and class in two pools of the worker: their own order.
  return b->jobs.At(0).key < a->jobs.At(0).key ? b : a;
}

const Lane* Line::Next(const std::vector<int>& pools, bool interactive_turn) const {
  static constexpr std::pair<int, int> kEverybody[] = {{0, 1}, {2, 3}, {4, 4}, {5, 5}};
  static constexpr std::pair<int, int> kInteractiveFirst[] = {{0, 0}, {2, 2}, {0, 1},
                                                              {2, 3}, {4, 4}, {5, 5}};
  const auto search = [&](const auto& groups) -> const Lane* {
    for (const auto& [from, to] : groups) {
      const Lane* first = nullptr;
      for (const int pool : pools) {
        if (static_cast<std::size_t>(pool) >= pools_.size()) continue;
        for (int slot = from; slot <= to; ++slot) {
          first = First(first, pools_[static_cast<std::size_t>(pool)].slots[slot]);
        }
      }
      if (first != nullptr) return first;
    }
    return nullptr;
  };
  return interactive_turn ? search(kInteractiveFirst) : search(kEverybody);
}

std::vector<const Lane*> Line::LanesOf(int pool) const {
  std::vector<const Lane*> lanes;
  if (static_cast<std::size_t>(pool) >= pools_.size()) return lanes;
  for (const Slot& slot : pools_[static_cast<std::size_t>(pool)].slots) {
    for (const auto& [key, lane] : slot) lanes.push_back(lane);
  }
  return lanes;
}

std::int64_t Line::JobsIn(int pool) const {
  const auto index = static_cast<std::size_t>(pool);
  return index < pools_.size() ? pools_[index].jobs : 0;
}

}  // namespace kbench::scheduler
