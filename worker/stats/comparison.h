// Is one faster than the other? A ratio with its interval, a verdict at a practical margin, and a
// p-value. Pure; thread-safe. Ratios are time of `a` over time of `b`, so below 1 means that `a` is
// faster.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "worker/stats/median_interval.h"

namespace kbench::stats {

inline constexpr double kDefaultMargin = 0.01;
inline constexpr double kComparisonAlpha = 0.05;

enum class ComparisonVerdict { kFaster, kSlower, kEquivalent, kInconclusive };
// "faster", "slower", "equivalent", "inconclusive".
const char* VerdictName(ComparisonVerdict verdict);

struct Comparison {
  Interval ratio;           // low and high are 0 without an interval
  double p_value = 1;       // of "both are the same"
  ComparisonVerdict verdict = ComparisonVerdict::kInconclusive;
  int pairs = 0;            // rounds behind it: pairs, or the smaller side
};

// faster: the whole interval lies below 1 / (1 + margin); slower: above 1 + margin; equivalent:
// within both; otherwise, and without an interval, inconclusive.
ComparisonVerdict VerdictOf(const Interval& ratio, double margin);

// By round: the median of the log ratios with its order-statistic interval; p by sign-flip
// permutation of the log ratios (exact up to 16 pairs, else 20,000 draws from `seed`).
Comparison ComparePaired(std::span<const double> a, std::span<const double> b, double margin,
                         std::uint64_t seed = 1);

// Two sets of round medians from different sessions: the Hodges-Lehmann estimate of the log ratio
// with its Moses interval, widened in quadrature by between_session_ratio * sqrt(2) *
// 1.96; p by Brunner-Munzel.
Comparison CompareUnpaired(std::span<const double> a, std::span<const double> b, double margin,
                           double between_session_ratio);

// Two-sided p of P(a < b) = 1/2 (Brunner and Munzel 2000, t approximation); 1 below 4 values a side.
double BrunnerMunzel(std::span<const double> a, std::span<const double> b);

// Benjamini-Hochberg: the adjusted p-values, in the order given.
std::vector<double> AdjustedPValues(std::span<const double> p_values);

// Correlation of neighbours within each round, pooled over the rounds; 0 below 10 pairs.
double Lag1Correlation(std::span<const std::vector<double>> rounds);

// An interval for history: widened in quadrature by z * between_session_ratio * centre.
Interval Widened(const Interval& interval, double between_session_ratio, double confidence);

}  // namespace kbench::stats
