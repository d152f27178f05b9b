// Two series of rounds compared in seconds and, where the clocks are known, in device cycles: what
// the rounds of a running case and those of stored results have in common. Pure; thread-safe.
#pragma once

#include <vector>

#include "worker/stats/comparison.h"

namespace kbench::stats {

// Vectors of one length, by round; `clocks` in hertz, 0 where unknown, may be empty as a whole.
// `numbers` (those of the rounds in their case, ascending) only matter to pairs.
struct RoundSeries {
  std::vector<int> numbers;
  std::vector<double> medians;
  std::vector<double> clocks;

  void Add(int number, double median, double clock);
};

struct ClockedComparison {
  Comparison seconds;
  double cycles_ratio = 0;  // cycles of `a` over cycles of `b`; 0: some clock is unknown
  // One of the two says faster, slower or equivalent, and the other says something else of these.
  bool clock_confounded = false;
};

// By the rounds that both have. No pairs: `seconds.pairs` is 0.
ClockedComparison CompareRounds(const RoundSeries& a, const RoundSeries& b, double margin);
// Rounds of different sessions.
ClockedComparison CompareSessions(const RoundSeries& a, const RoundSeries& b, double margin,
                                  double between_session_ratio);

}  // namespace kbench::stats
