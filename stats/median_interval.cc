#include "stats/median_interval.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "stats/summary.h"

namespace kbench::stats {

namespace {

// P(X = k) for X binomial with n trials at 1/2. By logarithms, so that 2^-n does not underflow.
double HalfBinomial(int n, int k) {
  return std::exp(std::lgamma(n + 1.0) - std::lgamma(k + 1.0) - std::lgamma(n - k + 1.0) -
                  n * std::log(2.0));
}

// How far each end moves from its rank towards the next inner one so that the interval covers
// 1 - alpha instead of ranks.coverage: Hettmansperger and Sheather (1986), "Confidence intervals
// based on interpolated order statistics", equation 2.
double InwardShare(int n, const MedianRanks& ranks, double alpha) {
  const int k = ranks.low;
  if (2 * (k + 1) > n + 1) return 0;  // no inner pair
  const double inner = ranks.coverage - 2 * HalfBinomial(n, k);
  const double step = (ranks.coverage - (1 - alpha)) / (ranks.coverage - inner);
  return (n - k) * step / (k + (n - 2 * k) * step);
}

}  // namespace

std::optional<MedianRanks> RanksOfMedian(int n, double alpha) {
  // low is the largest rank with BinomialCDF(low - 1; n, 1/2) <= alpha / 2.
  double tail = 0;
  MedianRanks ranks;
  double covered_tail = 0;
  for (int k = 0; k < n; ++k) {
    tail += HalfBinomial(n, k);
    if (tail > alpha / 2) break;
    ranks.low = k + 1;
    covered_tail = tail;
  }
  if (ranks.low == 0) return std::nullopt;
  ranks.high = n + 1 - ranks.low;
  ranks.coverage = 1 - 2 * covered_tail;
  return ranks;
}

std::optional<Interval> MedianInterval(std::span<const double> values, double alpha) {
  const int n = static_cast<int>(values.size());
  const auto ranks = RanksOfMedian(n, alpha);
  if (!ranks) return std::nullopt;
  const std::vector<double> sorted = Sorted(values);
  const double inward = InwardShare(n, *ranks, alpha);
  // The i-th smallest and the i-th largest value, from 1.
  const auto smallest = [&](int i) { return sorted[static_cast<std::size_t>(i - 1)]; };
  const auto largest = [&](int i) { return sorted[static_cast<std::size_t>(n - i)]; };
  const int rank = ranks->low;
  if (inward <= 0) return Interval{QuantileSorted(sorted, 0.5), smallest(rank), largest(rank)};
  return Interval{QuantileSorted(sorted, 0.5),
                  smallest(rank) + inward * (smallest(rank + 1) - smallest(rank)),
                  largest(rank) + inward * (largest(rank + 1) - largest(rank))};
}

}  // namespace kbench::stats
