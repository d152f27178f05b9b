// Is one faster than the other? A ratio with its interval, a verdict at a practical margin, and a
// p-value. Pure; thread-safe. Ratios are time of `a` over time of `b`, so below 1 means that `a` is
// faster.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stats/median_interval.h"
#include "stats/paired_ratio.h"

namespace kbench::stats {

inline constexpr double kDefaultMargin = 0.01;
// Of the intervals between sessions; that of paired rounds is kPairedAlpha.
inline constexpr double kComparisonAlpha = 0.05;

enum class ComparisonVerdict { kFaster, kSlower, kEquivalent, kInconclusive };
// "faster", "slower", "equivalent", "inconclusive".
const char* VerdictName(ComparisonVerdict verdict);

struct Comparison {
  Interval ratio;      // low and high are 0 without an interval
  double p_value = 1;  // of "both are the same"
  ComparisonVerdict verdict = ComparisonVerdict::kInconclusive;
  int pairs = 0;  // rounds behind it: pairs, or the smaller side
};

// faster: the whole interval lies below 1 / (1 + margin); slower: above 1 + margin; equivalent:
// within both; otherwise, and without an interval, inconclusive.
ComparisonVerdict VerdictOf(const Interval& ratio, double margin);

// By round: the median of the log ratios with its order-statistic interval; p by sign-flip
// permutation of the log ratios (exact up to 16 pairs, else 20,000 draws from `seed`). Pairs with a
// value that is not positive and finite do not count.
Comparison ComparePaired(std::span<const double> a, std::span<const double> b, double margin,
                         std::uint64_t seed = 1);

// Two sets of round medians from different sessions: the Hodges-Lehmann estimate of the log ratio
// with its Moses interval, widened in quadrature by between_session_ratio * sqrt(2) *
// 1.96; p by Brunner-Munzel.
Comparison CompareUnpaired(std::span<const double> a, std::span<const double> b, double margin,
                           double between_session_ratio);

// Two-sided p of P(a < b) = 1/2 (Brunner and Munzel 2000, t approximation); 1 below 4 values a
// side. Where all of one side lie below the other the statistic is infinite: the share of the
// permutations that part them as well, 2 / C(n + m, n).
double BrunnerMunzel(std::span<const double> a, std::span<const double> b);

// Benjamini-Hochberg: the adjusted p-values, in the order given.
std::vector<double> AdjustedPValues(std::span<const double> p_values);

// Correlation of neighbours within each round, pooled over the rounds; 0 below 10 pairs. Deviations
// from a round's own mean are correlated by -1/n even where the noise is not; that is corrected for
// noise whose correlation falls geometrically.
double Lag1Correlation(std::span<const std::vector<double>> rounds);

// An interval for history: widened in quadrature by z * between_session_ratio * centre. One without
// an interval (both ends 0) stays as it is.
Interval Widened(const Interval& interval, double between_session_ratio, double confidence);

// What stands in for a device's own figure until it rests on kMinCanaries sessions.
inline constexpr double kBetweenSessionPrior = 0.003;
inline constexpr int kMinCanaries = 5;
// The first sessions lie within minutes: until there are so many, over hours, the prior is the
// least.
inline constexpr int kManyCanaries = 20;
// `measured`: relative standard deviation of a cell's median between `canaries` sessions; 0 is a
// measurement too (the sessions move no more than the rounds within one). Always finite.
double BetweenSessionRatio(double measured, int canaries);

}  // namespace kbench::stats
