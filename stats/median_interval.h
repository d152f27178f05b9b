// The distribution-free interval of a median by order statistics: no assumption on the shape of the
// noise, only that the values are independent. Pure; thread-safe.
#pragma once

#include <optional>
#include <span>

namespace kbench::stats {

// Ranks from 1: the interval reaches from the low-th to the high-th smallest value.
struct MedianRanks {
  int low = 0;
  int high = 0;
  // What the ranks really cover, at least 1 - alpha.
  double coverage = 0;
};

// The narrowest symmetric ranks that cover the median with at least 1 - alpha; nothing when n is
// too small (n < 6 for alpha 0.05).
std::optional<MedianRanks> RanksOfMedian(int n, double alpha);

struct Interval {
  double centre = 0;
  double low = 0;
  double high = 0;

  double half_width() const { return (high - low) / 2; }
};

// Values in any order. Whole ranks cover more than 1 - alpha (8 values: 99.2 % or 93.0 %, nothing
// between), so each end lies between two order statistics, where 1 - alpha is: Hettmansperger and
// Sheather's interpolation, exact for no shape and good to a few thousandths for all usual ones.
std::optional<Interval> MedianInterval(std::span<const double> values, double alpha);

}  // namespace kbench::stats
