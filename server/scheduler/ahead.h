// Who goes before a waiting job: what positions, expected starts and explanations are made of.
// Plain values, internal to the scheduler.
#pragma once

#include <array>
#include <map>
#include <unordered_map>
#include <vector>

#include "server/scheduler/line.h"
#include "server/scheduler/view.h"

namespace kbench::scheduler {

// All lanes that compete for the workers of a pool.
struct Field {
  std::vector<const Lane*> lanes;
  std::vector<LoadTree::Search> searches;                           // of each
  std::vector<double> bases;                                        // of each, as BaseOf says
  std::unordered_map<const Owner*, std::array<double, 3>> seconds;  // waiting, by class

  void Add(const Lane& lane);
  void FillBases(double scale);  // once all are there
  // Where the first case of a lane stands among those of its class: the usage of its owner, with
  // what the owner has in higher classes, in weighted seconds times `scale`.
  double BaseOf(const Lane& lane, double scale) const;
};

// The fields of the pools that were asked for, within one question.
using Fields = std::map<int, Field>;

// A lane of which something goes first.
struct Rival {
  const Lane* lane = nullptr;
  Load ahead;
  Rule rule = Rule::kNone;
  Stage stage = Stage::kBatch;  // as which it goes first
  double value = 0;             // within the stage: where its first case stands, see Field::BaseOf
  double share = 1;             // of its workers, those that the job may run on
};

struct Standing {
  const Part* part = nullptr;  // the one of the job that comes first
  std::vector<Rival> rivals;   // its own lane among them
  std::int64_t cases = 0;      // of all rivals
};

}  // namespace kbench::scheduler
