#include "worker/experiment/stop_rule.h"

#include <algorithm>
#include <vector>

#include "worker/stats/distributions.h"

namespace kbench::experiment {
namespace {

// Chosen by simulation over noise of 0.1 to 4 times the target: a look whose interval is narrow by
// luck stops the rounds, so each must claim more than the whole does. The last may not be below
// 2^-5 = 0.03125, where six rounds have no interval any more.
constexpr double kInterimAlpha = 0.015;
constexpr double kFinalAlpha = 0.032;

StopState Judge(const StopRule& rule, const std::optional<stats::Interval>& interval,
                StopState otherwise) {
  if (!interval) return otherwise;
  if (interval->half_width() <= rule.target_ratio * interval->centre) return StopState::kConverged;
  if (interval->half_width() <= rule.quantum_seconds / 2) return StopState::kResolutionLimited;
  return otherwise;
}

}  // namespace

bool IsLook(int rounds) { return std::find(kLooks.begin(), kLooks.end(), rounds) != kLooks.end(); }

std::optional<stats::Interval> PublishedInterval(std::span<const double> round_medians) {
  const int rounds = static_cast<int>(round_medians.size());
  const bool interim = IsLook(rounds) && rounds < kMaxRounds;
  return stats::MedianInterval(round_medians, interim ? kInterimAlpha : kFinalAlpha);
}

double NormalHalfWidth(int rounds) {
  std::vector<double> scores;  // expected order statistics, by Blom's formula
  for (int i = 1; i <= rounds; ++i) {
    scores.push_back(stats::NormalQuantile((i - 0.375) / (rounds + 0.25)));
  }
  const auto interval = PublishedInterval(scores);
  return interval ? interval->half_width() : 0;
}

StopState Look(const StopRule& rule, std::span<const double> round_medians) {
  const int rounds = static_cast<int>(round_medians.size());
  if (!IsLook(rounds) && rounds < kMaxRounds) return StopState::kContinue;
  return Judge(rule, PublishedInterval(round_medians),
               rounds >= kMaxRounds ? StopState::kExhausted : StopState::kContinue);
}

StopState Conclude(const StopRule& rule, std::span<const double> round_medians) {
  return Judge(rule, PublishedInterval(round_medians), StopState::kExhausted);
}

double IntervalRatio(std::span<const double> round_medians) {
  const auto interval = PublishedInterval(round_medians);
  return interval && interval->centre > 0 ? interval->half_width() / interval->centre : 0;
}

}  // namespace kbench::experiment
