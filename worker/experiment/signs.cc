#include "worker/experiment/signs.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "stats/summary.h"
#include "worker/stats/trend.h"

namespace kbench::experiment {
namespace {

constexpr std::size_t kMinDriftRounds = 8;
constexpr double kDriftRho = 0.7;
constexpr std::size_t kMinModeSamples = 40;
constexpr std::size_t kLargestGaps = 20;
constexpr double kGapFactor = 5;
constexpr double kMinGapRatio = 0.01;
constexpr double kMinModeShare = 0.10;

}  // namespace

Drift DriftOf(std::span<const double> round_medians, double target_ratio) {
  Drift drift;
  if (round_medians.size() < kMinDriftRounds) return drift;
  const double centre = stats::Median(round_medians);
  drift.change_ratio =
      stats::TheilSenSlope(round_medians) * static_cast<double>(round_medians.size() - 1) / centre;
  drift.drifting = std::fabs(stats::SpearmanWithIndex(round_medians)) > kDriftRho &&
                   std::fabs(drift.change_ratio) > 2 * target_ratio;
  return drift;
}

Modes ModesOf(std::span<const double> samples, double quantum_seconds) {
  Modes modes;
  if (samples.size() < kMinModeSamples) return modes;
  const std::vector<double> sorted = stats::Sorted(samples);
  std::vector<double> gaps;
  for (std::size_t i = 1; i < sorted.size(); ++i) gaps.push_back(sorted[i] - sorted[i - 1]);
  // Only gaps that leave enough on each side can split modes; a lone outlier makes a large one too.
  const auto margin =
      static_cast<std::size_t>(std::ceil(kMinModeShare * static_cast<double>(sorted.size())));
  const auto first = gaps.begin() + static_cast<std::ptrdiff_t>(margin - 1);
  const auto last = gaps.end() - static_cast<std::ptrdiff_t>(margin - 1);
  const auto largest = std::max_element(first, last);
  const double gap = *largest;
  const auto split = static_cast<std::size_t>(largest - gaps.begin()) + 1;

  std::vector<double> ordered = gaps;
  std::partial_sort(ordered.begin(), ordered.begin() + kLargestGaps, ordered.end(),
                    std::greater<>());
  ordered.resize(kLargestGaps);
  const double centre = stats::QuantileSorted(sorted, 0.5);
  modes.bimodal = gap > kGapFactor * stats::Median(ordered) && gap > kMinGapRatio * centre &&
                  gap > 2 * quantum_seconds;
  const std::span<const double> all(sorted);
  modes.low = stats::QuantileSorted(all.first(split), 0.5);
  modes.high = stats::QuantileSorted(all.subspan(split), 0.5);
  modes.low_share = static_cast<double>(split) / static_cast<double>(sorted.size());
  return modes;
}

double RelativeIqr(std::span<const double> samples) {
  if (samples.size() < 4) return 0;
  const std::vector<double> sorted = stats::Sorted(samples);
  return (stats::QuantileSorted(sorted, 0.75) - stats::QuantileSorted(sorted, 0.25)) /
         stats::QuantileSorted(sorted, 0.5);
}

}  // namespace kbench::experiment
