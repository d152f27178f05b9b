// When there is enough evidence: the interval of the median over rounds, looked at rarely. Looking
// after every round would stop on lucky streaks; with five looks, the interim ones at alpha 0.02,
// the interval that is published covers the median at least 95 times in 100 (see the simulation in
// the tests). Pure; thread-safe.
#pragma once

#include <array>
#include <optional>
#include <span>

#include "worker/stats/median_interval.h"

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

// Decides at the looks only; kContinue at every other number of rounds.
StopState Look(const StopRule& rule, std::span<const double> round_medians);

// The state when nothing more can be measured (the budget is over), at any number of rounds.
StopState Conclude(const StopRule& rule, std::span<const double> round_medians);

// The interval to publish: that of the look for an interim look, the plain 95 % one otherwise.
// Nothing below kMinRounds.
std::optional<stats::Interval> PublishedInterval(std::span<const double> round_medians);

// Half-width over centre of the published interval; 0 when there is none.
double IntervalRatio(std::span<const double> round_medians);

}  // namespace kbench::experiment
