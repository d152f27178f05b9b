#include "worker/experiment/stop_rule.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace kbench::experiment {
namespace {

std::vector<double> Constant(int rounds, double value = 1) {
  return std::vector<double>(static_cast<std::size_t>(rounds), value);
}

TEST(StopRule, LooksOnlyAtTheFiveLooks) {
  const StopRule rule{.target_ratio = 0.005};
  for (int rounds = 0; rounds <= 40; ++rounds) {
    const bool look = rounds == 8 || rounds == 12 || rounds == 18 || rounds == 27 || rounds == 40;
    EXPECT_EQ(Look(rule, Constant(rounds)), look ? StopState::kConverged : StopState::kContinue)
        << rounds;
  }
}

TEST(StopRule, WideIntervalGoesOnUntilTheRoundsAreUsedUp) {
  const StopRule rule{.target_ratio = 0.005};
  std::vector<double> wide;
  for (int i = 0; i < 40; ++i) {
    wide.push_back(i % 2 == 0 ? 1.0 : 1.5);
    const StopState expected = wide.size() < 40 ? StopState::kContinue : StopState::kExhausted;
    EXPECT_EQ(Look(rule, wide), expected) << wide.size();
  }
}

TEST(StopRule, StopsAtTheResolutionOfTheClock) {
  const StopRule rule{.target_ratio = 0.005, .quantum_seconds = 0.5};
  const std::vector<double> steps = {1, 1.5, 1, 1.5, 1, 1.5, 1, 1.5};
  EXPECT_EQ(Look(rule, steps), StopState::kResolutionLimited);
}

TEST(StopRule, ShortBudgetConcludesFromSixRounds) {
  const StopRule rule{.target_ratio = 0.005};
  EXPECT_EQ(Conclude(rule, Constant(5)), StopState::kExhausted);
  EXPECT_EQ(Conclude(rule, Constant(6)), StopState::kConverged);
  EXPECT_FALSE(PublishedInterval(Constant(5)));
  EXPECT_TRUE(PublishedInterval(Constant(6)));
  EXPECT_EQ(IntervalRatio(Constant(5)), 0);
}

// The promise of the published interval, by simulation of whole experiments with the noise of a
// real machine: 2 % Gaussian within, 0.5 % between rounds, 3 % of the samples delayed.
TEST(StopRule, PublishedIntervalCoversTheMedianDespiteOptionalStopping) {
  std::mt19937_64 random(11);
  std::normal_distribution<double> gauss;
  std::exponential_distribution<double> tail(1 / 0.3);
  std::uniform_real_distribution<double> uniform;
  const auto round_median = [&] {
    const double shift = 0.005 * gauss(random);
    std::vector<double> samples(11);
    for (double& sample : samples) {
      sample = 1 + shift + 0.02 * gauss(random);
      if (uniform(random) < 0.03) sample += tail(random);
    }
    return stats::MedianInterval(samples, 0.05)->centre;
  };
  std::vector<double> truth(20001);
  for (double& value : truth) value = round_median();
  const double median = stats::MedianInterval(truth, 0.05)->centre;

  for (const double target : {0.002, 0.005, 0.02}) {
    int covered = 0;
    int rounds_used = 0;
    const int trials = 1500;
    for (int trial = 0; trial < trials; ++trial) {
      const StopRule rule{.target_ratio = target};
      std::vector<double> medians;
      while (Look(rule, medians) == StopState::kContinue) medians.push_back(round_median());
      const auto interval = PublishedInterval(medians);
      covered += interval->low <= median && median <= interval->high;
      rounds_used += static_cast<int>(medians.size());
    }
    // 95 % minus three standard errors of the simulation.
    EXPECT_GT(covered, (0.95 - 0.017) * trials) << target;
    EXPECT_LT(covered, trials) << "an interval that always covers is too wide to be useful";
    RecordProperty("mean_rounds_" + std::to_string(target), rounds_used / trials);
  }
}

}  // namespace
}  // namespace kbench::experiment
