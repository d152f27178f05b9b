// When there is enough evidence: the interval of the median over rounds, looked at rarely. Looking
// after every round would stop on lucky streaks; with five looks, the interim ones at alpha 0.015
// and the last at 0.032, the interval that is published covers the median at least 95 times in 100
// whatever the noise (coverage_test.cc simulates it; worker/README.md has the figures). Pure;
// thread-safe.
#pragma once

#include <array>
#include <optional>
#include <span>

#include "stats/median_interval.h"

namespace kbench::experiment {

inline constexpr std::array<int, 5> kLooks = {8, 12, 18, 27, 40};
inline constexpr int kMaxRounds = 40;
// Below this there is no 95 % interval of a median.
inline constexpr int kMinRounds = 6;
inline constexpr double kConfidence = 0.95;

struct StopRule {
  double target_ratio = 0.005;  // half-width of the interval over its centre
  double quantum_seconds = 0;   // smallest step between two sample times
};

enum class StopState {
  kContinue,
  kConverged,
  kResolutionLimited,  // half a step of the clock is wider than the target: no use going on
  kExhausted           // rounds or budget used up before the target was reached
};

bool IsLook(int rounds);

// Decides at the looks only; kContinue at every other number of rounds.
StopState Look(const StopRule& rule, std::span<const double> round_medians);

// The state when nothing more can be measured (the budget is over), at any number of rounds.
StopState Conclude(const StopRule& rule, std::span<const double> round_medians);

// The interval to publish: at the alpha of an interim look, or of the last one.
// Nothing below kMinRounds.
std::optional<stats::Interval> PublishedInterval(std::span<const double> round_medians);

// The half-width to expect of it when round medians scatter normally with standard deviation 1; 0
// when there is none.
double NormalHalfWidth(int rounds);

// Half-width over centre of the published interval; 0 when there is none.
double IntervalRatio(std::span<const double> round_medians);

}  // namespace kbench::experiment
