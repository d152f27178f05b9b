#include "server/history/noise.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <vector>

#include "stats/robust_scale.h"
#include "stats/summary.h"
#include "worker/stats/comparison.h"
#include "worker/stats/distributions.h"
#include "worker/stats/trend.h"

namespace kbench::history {
namespace {

constexpr int kLeastTail = 10;
constexpr double kTail = 0.9;
// RobustScale of n values is as sure as the standard deviation of so many of them.
constexpr double kEfficiency = 0.82;
// A prior rests on at least five canaries (stats::kMinCanaries), or on a long history.
constexpr double kPriorDegrees = 6;

// A cell so much noisier than the prior says is another one than it speaks of.
constexpr double kNotOfPrior = 2;

// Of the intervals "for comparison with other sessions", as standard deviations.
double RatioOfIntervals(std::span<const v1::HistoryPoint> counted) {
  std::vector<double> ratios;
  for (const v1::HistoryPoint& point : counted) {
    if (!(point.low() > 0) || !(point.high() > point.low())) continue;
    ratios.push_back((point.high() - point.low()) / 2 / stats::NormalQuantile(0.975) /
                     point.seconds());
  }
  return ratios.empty() ? 0 : stats::Median(ratios);
}

// A drift is no noise: it would hide itself behind the gates that it raises.
void RemoveTrend(std::vector<double>* logs) {
  const double slope = stats::TheilSenSlope(*logs);
  for (std::size_t i = 0; i < logs->size(); ++i) (*logs)[i] -= slope * static_cast<double>(i);
}

}  // namespace

Noise NoiseOf(std::span<const v1::HistoryPoint> counted, const NoisePrior& prior) {
  if (counted.size() > kMostNoiseResults) counted = counted.last(kMostNoiseResults);
  std::vector<double> logs;
  for (const v1::HistoryPoint& point : counted) logs.push_back(std::log(point.seconds()));
  Noise noise;
  noise.results = static_cast<int>(logs.size());
  if (noise.results >= kOwnNoiseResults) RemoveTrend(&logs);
  noise.ratio = stats::RobustScale(logs);
  noise.degrees = std::max(1.0, kEfficiency * (noise.results - 1));
  if (noise.results >= kLeastTail) {
    const std::vector<double> sorted = stats::Sorted(logs);
    noise.tail_ratio =
        std::expm1(stats::QuantileSorted(sorted, kTail) - stats::QuantileSorted(sorted, 0.5));
  }
  if (noise.results >= kOwnNoiseResults) return noise;
  const double device =
      prior.between_session_ratio > 0 ? prior.between_session_ratio : stats::kBetweenSessionPrior;
  const double least = std::max({device, prior.known_ratio, RatioOfIntervals(counted)});
  if (noise.ratio > kNotOfPrior * least) return noise;
  const double own_degrees = kEfficiency * std::max(0, noise.results - 1);
  noise.degrees = kPriorDegrees + own_degrees;
  const double moderated = std::sqrt(
      (kPriorDegrees * least * least + own_degrees * noise.ratio * noise.ratio) / noise.degrees);
  noise.prior = moderated <= least;
  noise.ratio = std::max(moderated, least);
  return noise;
}

double MedianVariance(int results) { return results <= 1 ? 1 : std::numbers::pi / 2 / results; }

}  // namespace kbench::history
