// In which order a round visits the cells of a case. Pure; immutable; thread-safe.
#pragma once

#include <cstdint>
#include <vector>

namespace kbench::experiment {

// Rounds come in pairs: a freshly shuffled order, then its reverse. So every order and its reverse
// are used equally often, and a drift that is linear over a pair favours no cell.
class RoundPlan {
 public:
  RoundPlan(std::uint64_t seed, int cells) : seed_(seed), cells_(cells) {}
  // A permutation of 0 .. cells-1; `round` from 0.
  std::vector<int> Order(int round) const;

 private:
  std::uint64_t seed_;
  int cells_;
};

}  // namespace kbench::experiment
