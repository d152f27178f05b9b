// The shift between two samples by ranks: robust as the median, nearly as sharp as the mean. Pure;
// thread-safe.
#pragma once

#include <span>

#include "stats/median_interval.h"

namespace kbench::stats {

// The largest c with P(U <= c - 1) <= alpha / 2, U the Mann-Whitney statistic of n and m values
// from one distribution; 0 when the sizes allow none (4 and 4 is the least for alpha 0.05). Exact
// up to 60 values a side, beyond by the normal approximation.
int MannWhitneyRank(int n, int m, double alpha);

// a - b: the median of all differences a[i] - b[j] (Hodges and Lehmann 1963) and Moses' interval,
// from the c-th smallest to the c-th largest of them. Both ends equal 0 and `valid` is false
// without an interval. Neither side may be empty.
struct Shift {
  Interval interval;
  bool valid = false;
};
Shift HodgesLehmann(std::span<const double> a, std::span<const double> b, double alpha);

}  // namespace kbench::stats
