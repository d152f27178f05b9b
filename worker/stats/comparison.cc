#include "worker/stats/comparison.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "worker/stats/distributions.h"
#include "worker/stats/hodges_lehmann.h"
#include "worker/stats/sign_flip.h"

namespace kbench::stats {
namespace {

// Fewer rounds on one side may have an interval by ranks, and say nothing of their own spread.
constexpr int kLeastUnpaired = 4;

bool Usable(double value) { return std::isfinite(value) && value > 0; }

std::vector<double> Logs(std::span<const double> values) {
  std::vector<double> logs;
  for (const double value : values) {
    if (Usable(value)) logs.push_back(std::log(value));
  }
  return logs;
}

}  // namespace

const char* VerdictName(ComparisonVerdict verdict) {
  switch (verdict) {
    case ComparisonVerdict::kFaster:
      return "faster";
    case ComparisonVerdict::kSlower:
      return "slower";
    case ComparisonVerdict::kEquivalent:
      return "equivalent";
    case ComparisonVerdict::kInconclusive:
      break;
  }
  return "inconclusive";
}

ComparisonVerdict VerdictOf(const Interval& ratio, double margin) {
  // "!(x > 0)" also holds for NaN.
  if (!(ratio.low > 0) || !(ratio.high >= ratio.low)) return ComparisonVerdict::kInconclusive;
  const double least = 1 / (1 + margin);
  const double most = 1 + margin;
  if (ratio.high < least) return ComparisonVerdict::kFaster;
  if (ratio.low > most) return ComparisonVerdict::kSlower;
  if (ratio.low >= least && ratio.high <= most) return ComparisonVerdict::kEquivalent;
  return ComparisonVerdict::kInconclusive;
}

Comparison ComparePaired(std::span<const double> a, std::span<const double> b, double margin,
                         std::uint64_t seed) {
  const std::vector<double> logs = LogRatios(a, b);
  Comparison comparison;
  comparison.pairs = static_cast<int>(logs.size());
  if (logs.empty()) return comparison;
  comparison.ratio = RatioOf(logs);
  comparison.p_value = SignFlip(logs, seed);
  comparison.verdict = VerdictOf(comparison.ratio, margin);
  return comparison;
}

Comparison CompareUnpaired(std::span<const double> a, std::span<const double> b, double margin,
                           double between_session_ratio) {
  const std::vector<double> left = Logs(a);
  const std::vector<double> right = Logs(b);
  Comparison comparison;
  comparison.pairs = static_cast<int>(std::min(left.size(), right.size()));
  if (comparison.pairs == 0) return comparison;
  const Shift shift = HodgesLehmann(left, right, kComparisonAlpha);
  const double centre = shift.interval.centre;
  comparison.ratio.centre = std::exp(centre);
  if (shift.valid && comparison.pairs >= kLeastUnpaired) {
    // Both sides have a session's shift of their own; for small ratios ln(1 + x) is x.
    const double session =
        NormalQuantile(1 - kComparisonAlpha / 2) * std::sqrt(2.0) * between_session_ratio;
    comparison.ratio.low = std::exp(centre - std::hypot(centre - shift.interval.low, session));
    comparison.ratio.high = std::exp(centre + std::hypot(shift.interval.high - centre, session));
  }
  comparison.p_value = BrunnerMunzel(left, right);
  comparison.verdict = VerdictOf(comparison.ratio, margin);
  return comparison;
}

std::vector<double> AdjustedPValues(std::span<const double> p_values) {
  const std::size_t n = p_values.size();
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t x, std::size_t y) { return p_values[x] < p_values[y]; });
  std::vector<double> adjusted(n);
  double least = 1;
  for (std::size_t rank = n; rank > 0; --rank) {
    const std::size_t i = order[rank - 1];
    least = std::min(least, p_values[i] * static_cast<double>(n) / static_cast<double>(rank));
    adjusted[i] = least;
  }
  return adjusted;
}

Interval Widened(const Interval& interval, double between_session_ratio, double confidence) {
  if (interval.low == 0 && interval.high == 0) return interval;
  const double session =
      NormalQuantile((1 + confidence) / 2) * between_session_ratio * interval.centre;
  return {interval.centre, interval.centre - std::hypot(interval.centre - interval.low, session),
          interval.centre + std::hypot(interval.high - interval.centre, session)};
}

double BetweenSessionRatio(double measured, int canaries) {
  const bool known = canaries >= kMinCanaries && std::isfinite(measured) && measured >= 0;
  if (!known) return kBetweenSessionPrior;
  return canaries < kManyCanaries ? std::max(measured, kBetweenSessionPrior) : measured;
}

}  // namespace kbench::stats
