#include "worker/experiment/stop_rule.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace kbench::experiment
