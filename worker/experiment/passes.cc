#include "worker/experiment/passes.h"

#include <algorithm>
#include <cmath>

#include "worker/experiment/stop_rule.h"

namespace kbench::experiment {
namespace {

// A cell that would still be so much wider than the target is not worth the time.
constexpr double kWithinReach = 1.5;
constexpr int kMostPasses = 1000;

// What a round tells about the median. Were all visits independent, a round of twice the samples
// would scatter sqrt(2) less. The interval shrinks with the mean over the rounds: the density of
// round medians at their centre, which sets the width between order statistics, is the mean of the
// single rounds' densities. It needs no equal rounds: each median falls above the truth as often as
// below it whatever the round's length, and that is all that order statistics ask for.
double Weight(double samples) { return std::sqrt(std::max(1.0, samples)); }

double WeightOf(const Unsettled& cell) {
  double weight = 0;
  for (const int samples : cell.round_samples) weight += Weight(samples);
  return weight;
}

int RoundsLeft(const Unsettled& cell) {
  return kMaxRounds - static_cast<int>(cell.round_samples.size());
}

// The interval that kMaxRounds of weight 1 in all would have.
double Scale(const Unsettled& cell) {
  const int rounds = static_cast<int>(cell.round_samples.size());
  const double mean_weight = WeightOf(cell) / rounds;
  const double scatter = cell.interval_ratio / NormalHalfWidth(rounds) * mean_weight;
  return scatter * NormalHalfWidth(kMaxRounds) * kMaxRounds;
}

bool CanBeJudged(const Unsettled& cell) {
  const int rounds = static_cast<int>(cell.round_samples.size());
  return cell.interval_ratio > 0 && rounds >= kMinRounds && RoundsLeft(cell) > 0;
}

// The fewest passes that are expected to reach the target.
double PassesNeeded(const Unsettled& cell, double target_ratio) {
  const double missing = (Scale(cell) / target_ratio - WeightOf(cell)) / RoundsLeft(cell);
  return missing <= 0 ? 1 : std::ceil(missing * missing / std::max(1, cell.pass_samples));
}

}  // namespace

std::vector<PlannedVisit> VisitsOfRound(const std::vector<std::size_t>& order,
                                        const std::vector<int>& samples,
                                        const std::vector<int>& most, int passes) {
  std::vector<PlannedVisit> visits;
  for (int pass = 0; pass < passes; ++pass) {
    for (std::size_t place = 0; place < order.size(); ++place) {
      const std::size_t cell = order[pass % 2 == 0 ? place : order.size() - 1 - place];
      const bool again = !visits.empty() && visits.back().cell == cell &&
                         visits.back().samples + samples[cell] <= most[cell];
      if (again) {
        visits.back().samples += samples[cell];
      } else {
        visits.push_back({cell, samples[cell], pass});
      }
    }
  }
  return visits;
}

int StretchedPasses(double pass_seconds, double wanted_seconds) {
  const double once = kLooks.front() * pass_seconds;
  if (once <= 0) return 1;
  return static_cast<int>(std::clamp(wanted_seconds / once, 1.0, kMostPasses + 0.0));
}

double ExpectedRatio(const Unsettled& cell, int passes) {
  const double coming = RoundsLeft(cell) * Weight(passes * cell.pass_samples);
  return Scale(cell) / (WeightOf(cell) + coming);
}

int EscalatedPasses(std::span<const Unsettled> cells, double target_ratio, int passes,
                    double pass_seconds, double seconds) {
  int rounds = 0;
  for (const Unsettled& cell : cells) rounds = std::max(rounds, RoundsLeft(cell));
  if (rounds <= 0 || pass_seconds <= 0) return passes;
  const double fit = std::min(seconds / (rounds * pass_seconds), kMostPasses + 0.0);
  const int most = std::max(passes, static_cast<int>(fit));
  int wanted = passes;
  for (const Unsettled& cell : cells) {
    if (!CanBeJudged(cell) || ExpectedRatio(cell, most) > kWithinReach * target_ratio) continue;
    const double needed = std::min(PassesNeeded(cell, target_ratio), most + 0.0);
    wanted = std::max(wanted, static_cast<int>(needed));
  }
  return wanted;
}

}  // namespace kbench::experiment
