// The line of waiting jobs. Pure; owned by the scheduler.
//
// Jobs of one owner and class that the same workers may run (a pool, pools.h) share a lane, in
// their own order. Lanes, not jobs, compete: each stands in the line of its pool, in one of six
// slots by its class and by how long it has waited, ordered by its owner's usage (promoted ones by
// their waiting). So a charge moves the few lanes of one owner, whatever the number of jobs.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "server/scheduler/load_tree.h"
#include "server/scheduler/state.h"
#include "server/scheduler/types.h"
#include "server/scheduler/usage.h"

namespace kbench::scheduler {

// What goes first, but for the turns of the interactive class (Line::Next).
enum class Stage { kPromoted, kInteractive, kCi, kBatch };

// value, serial of the owner, class: the order within a slot.
struct LaneKey {
  double value = 0;
  std::int64_t serial = 0;
  PriorityClass priority_class = PriorityClass::kInteractive;
  friend bool operator<(const LaneKey& a, const LaneKey& b) {
    return std::tie(a.value, a.serial, a.priority_class) <
           std::tie(b.value, b.serial, b.priority_class);
  }
};

struct Lane {
  Owner* owner = nullptr;
  PriorityClass priority_class = PriorityClass::kInteractive;
  int pool = 0;
  LoadTree jobs;
  double served_at = 0;  // when one of its workers last ran something of the owner and class
  double since = 0;      // since when it waits: the later of that and its oldest job's coming
  Stage stage = Stage::kInteractive;
  LaneKey key;
  double next_stage_at = 0;
};

// Serial of the owner, class, pool.
using LaneId = std::tuple<std::int64_t, PriorityClass, int>;

class Line {
 public:
  explicit Line(const Options& options) : options_(options) {}

  // How the job stands in the line from now on: once in each pool of `parts`; nowhere without any.
  void Put(double now, JobState& job, std::vector<Part> parts);
  // A worker with these pools began or ended something of the owner and class.
  void Served(double now, Owner& owner, PriorityClass priority_class,
              const std::vector<int>& pools);
  void UsageChanged(double now, Owner& owner);
  // Lanes that have waited long enough rise. Before Next.
  void Age(double now);
  void Rebuild(double now);  // all usages are written otherwise

  // The lane that is next for a worker with these pools; nullptr: none. `interactive_turn`: the
  // worker's last case was not of the interactive class, so that one goes before everything.
  const Lane* Next(const std::vector<int>& pools, bool interactive_turn) const;

  // The lanes of a pool, in no order that means anything.
  std::vector<const Lane*> LanesOf(int pool) const;
  const std::map<LaneId, std::unique_ptr<Lane>>& lanes() const { return lanes_; }
  static Stage StageOf(PriorityClass priority_class);  // without any age
  std::int64_t JobsIn(int pool) const;
  bool empty() const { return lanes_.empty(); }

 private:
  // Promoted lanes and those that act as interactive, each apart by whether they are interactive.
  static constexpr int kSlots = 6;
  using Slot = std::set<std::pair<LaneKey, Lane*>>;
  struct PoolLine {
    Slot slots[kSlots];
    std::int64_t jobs = 0;
  };
  static int SlotOf(Stage stage, PriorityClass priority_class);
  static const Lane* First(const Lane* a, const Slot& slot);

  Lane& LaneOf(JobState& job, int pool);
  PoolLine& PoolOf(int pool);
  void Take(Lane& lane);               // out of its slot
  void Place(double now, Lane& lane);  // into the one it belongs to
  void Drop(Lane& lane);

  Options options_;
  std::map<LaneId, std::unique_ptr<Lane>> lanes_;
  std::vector<PoolLine> pools_;
  std::set<std::pair<double, Lane*>> aging_;
};

}  // namespace kbench::scheduler
