// The ratio of two cells of one case, paired by round: what changes from round to round changes
// both, and cancels. Pure; thread-safe.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "stats/median_interval.h"

namespace kbench::stats {

// Of the interval. The number of rounds was chosen by looks at narrow intervals, so each must claim
// a little more than the 95 % it is published for (tests/worker/experiment simulates it); below
// 2^-5 six pairs would have none.
inline constexpr double kPairedAlpha = 0.035;

// The places of the rounds that both have, by the rounds' numbers, in the order of `a`.
std::vector<std::pair<std::size_t, std::size_t>> CommonRounds(std::span<const int> a,
                                                              std::span<const int> b);

// ln(a[i] / b[i]); pairs with a value that is not positive and finite do not count.
std::vector<double> LogRatios(std::span<const double> a, std::span<const double> b);

// Of the ratio: the median of the log ratios with its order-statistic interval, both taken back
// from the logarithm. `log_ratios` not empty; low and high are 0 where there are too few of them.
Interval RatioOf(std::span<const double> log_ratios);

}  // namespace kbench::stats
