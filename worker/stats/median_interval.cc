#include "worker/stats/median_interval.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "worker/stats/summary.h"

namespace kbench::stats {

std::optional<MedianRanks> RanksOfMedian(int n, double alpha) {
  // low is the largest rank with BinomialCDF(low - 1; n, 1/2) <= alpha / 2. Terms by logarithms, so
  // that 2^-n does not underflow.
  double tail = 0;
  MedianRanks ranks;
  double covered_tail = 0;
  for (int k = 0; k < n; ++k) {
    tail += std::exp(std::lgamma(n + 1.0) - std::lgamma(k + 1.0) - std::lgamma(n - k + 1.0) -
                     n * std::log(2.0));
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
  const auto ranks = RanksOfMedian(static_cast<int>(values.size()), alpha);
  if (!ranks) return std::nullopt;
  const std::vector<double> sorted = Sorted(values);
  return Interval{QuantileSorted(sorted, 0.5), sorted[static_cast<std::size_t>(ranks->low - 1)],
                  sorted[static_cast<std::size_t>(ranks->high - 1)]};
}

std::optional<Interval> PairedRatio(std::span<const double> numerator,
                                    std::span<const double> denominator, double alpha) {
  const std::size_t pairs = std::min(numerator.size(), denominator.size());
  if (pairs == 0) return std::nullopt;
  std::vector<double> logs;
  logs.reserve(pairs);
  for (std::size_t i = 0; i < pairs; ++i) logs.push_back(std::log(numerator[i] / denominator[i]));
  if (const auto interval = MedianInterval(logs, alpha)) {
    return Interval{std::exp(interval->centre), std::exp(interval->low), std::exp(interval->high)};
  }
  return Interval{std::exp(Median(logs)), 0, 0};
}

}  // namespace kbench::stats
