#include "worker/experiment/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kbench::experiment {
namespace {

CellRecord Record(const std::vector<double>& medians, int first_round = 0, double clock = 0) {
  CellRecord record;
  for (std::size_t i = 0; i < medians.size(); ++i) {
    RoundRecord round;
    round.round = first_round + static_cast<int>(i);
    round.device_seconds = {medians[i]};
    round.clock_hertz = clock;
    record.Add(round);
  }
  return record;
}

const std::vector<double> kEight = {1.000, 1.001, 0.999, 1.000, 1.002, 0.998, 1.000, 1.001};

std::vector<double> Times(double factor) {
  std::vector<double> scaled = kEight;
  for (double& value : scaled) value *= factor;
  return scaled;
}

TEST(Compare, PairsByRoundAndIgnoresTheRest) {
  // The baseline's extra rounds were ten times slower; pairs say: own is twice as fast.
  const CellRecord baseline = Record({2, 4, 6, 8, 10, 12, 200, 200, 200});
  const CellRecord own = Record({1, 2, 3, 4, 5, 6});
  v1::BaselineComparison comparison;
  ASSERT_TRUE(Compare("cublas", baseline, own, 0, &comparison));
  EXPECT_EQ(comparison.baseline(), "cublas");
  EXPECT_NEAR(comparison.speedup(), 2, 1e-12);
  EXPECT_NEAR(comparison.low(), 2, 1e-12);
  EXPECT_NEAR(comparison.high(), 2, 1e-12);
  EXPECT_EQ(comparison.verdict(), "faster");
  EXPECT_DOUBLE_EQ(comparison.margin_ratio(), 0.01);
  EXPECT_DOUBLE_EQ(comparison.p_value(), 2.0 / 64);
  EXPECT_TRUE(comparison.paired());
  EXPECT_EQ(comparison.cycles_speedup(), 0);
  EXPECT_EQ(comparison.reasons_size(), 0);
  EXPECT_FALSE(Compare("cublas", baseline, Record({1, 1}, 100), 0, &comparison));
}

TEST(Compare, VerdictAtTheMarginGiven) {
  v1::BaselineComparison comparison;
  ASSERT_TRUE(Compare("a", Record(kEight), Record(Times(1.03)), 0.01, &comparison));
  EXPECT_EQ(comparison.verdict(), "slower");
  ASSERT_TRUE(Compare("a", Record(kEight), Record(Times(1.03)), 0.05, &comparison));
  EXPECT_EQ(comparison.verdict(), "equivalent");
  EXPECT_DOUBLE_EQ(comparison.margin_ratio(), 0.05);
  EXPECT_LT(comparison.low(), comparison.speedup() + 1e-12);
  EXPECT_GT(comparison.high(), comparison.speedup() - 1e-12);
}

TEST(Compare, FewRoundsAreInconclusive) {
  v1::BaselineComparison comparison;
  ASSERT_TRUE(Compare("a", Record({2, 2, 2}), Record({1, 1, 1}), 0, &comparison));
  EXPECT_NEAR(comparison.speedup(), 2, 1e-12);
  EXPECT_EQ(comparison.low(), 0);
  EXPECT_EQ(comparison.high(), 0);
  EXPECT_EQ(comparison.verdict(), "inconclusive");
}

TEST(Compare, ClocksThatExplainTheDifference) {
  v1::BaselineComparison comparison;
  // 5 % slower at a clock 5 % lower: the same number of cycles.
  ASSERT_TRUE(Compare("a", Record(kEight, 0, 1.05e9), Record(Times(1.05), 0, 1e9), 0, &comparison));
  EXPECT_EQ(comparison.verdict(), "slower");
  EXPECT_NEAR(comparison.cycles_speedup(), 1, 1e-9);
  EXPECT_THAT(comparison.reasons(), testing::ElementsAre("CLOCK_CONFOUNDED"));
  EXPECT_NE(comparison.message(), "");
}

TEST(Compare, EqualClocksAgree) {
  v1::BaselineComparison comparison;
  ASSERT_TRUE(Compare("a", Record(kEight, 0, 1e9), Record(Times(1.05), 0, 1e9), 0, &comparison));
  EXPECT_NEAR(comparison.cycles_speedup(), 1 / 1.05, 1e-9);
  EXPECT_EQ(comparison.reasons_size(), 0);
}

TEST(Compare, OneUnknownClockMakesCyclesUnknown) {
  v1::BaselineComparison comparison;
  CellRecord own = Record(Times(1.05), 0, 1e9);
  own.rounds[3].clock_hertz = 0;
  ASSERT_TRUE(Compare("a", Record(kEight, 0, 1.05e9), own, 0, &comparison));
  EXPECT_EQ(comparison.cycles_speedup(), 0);
  EXPECT_EQ(comparison.reasons_size(), 0);
}

}  // namespace
}  // namespace kbench::experiment
