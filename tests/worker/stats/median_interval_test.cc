#include "worker/stats/median_interval.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <tuple>
#include <vector>

namespace kbench::stats {
namespace {

class PublishedRanks : public testing::TestWithParam<std::tuple<int, int, int>> {};

TEST_P(PublishedRanks, At95Percent) {
  const auto [n, low, high] = GetParam();
  const auto ranks = RanksOfMedian(n, 0.05);
  ASSERT_TRUE(ranks);
  EXPECT_EQ(ranks->low, low);
  EXPECT_EQ(ranks->high, high);
  EXPECT_GE(ranks->coverage, 0.95);
}

INSTANTIATE_TEST_SUITE_P(Table, PublishedRanks,
                         testing::Values(std::tuple{6, 1, 6}, std::tuple{10, 2, 9},
                                         std::tuple{20, 6, 15}, std::tuple{32, 10, 23},
                                         std::tuple{50, 18, 33}, std::tuple{100, 40, 61},
                                         std::tuple{1000, 469, 532}));

TEST(RanksOfMedian, NoneBelowSixAt95Percent) {
  for (int n = 0; n <= 5; ++n) EXPECT_FALSE(RanksOfMedian(n, 0.05)) << n;
}

TEST(RanksOfMedian, At98Percent) {
  EXPECT_FALSE(RanksOfMedian(6, 0.02));
  EXPECT_EQ(RanksOfMedian(8, 0.02)->low, 1);
  EXPECT_EQ(RanksOfMedian(12, 0.02)->low, 2);
  EXPECT_NEAR(RanksOfMedian(8, 0.02)->coverage, 1 - 2.0 / 256, 1e-12);
}

TEST(MedianInterval, TakesOrderStatistics) {
  const std::vector<double> values = {5, 3, 9, 1, 7, 2, 8, 4, 6, 10};
  const auto interval = MedianInterval(values, 0.05);
  ASSERT_TRUE(interval);
  EXPECT_EQ(interval->centre, 5.5);
  EXPECT_EQ(interval->low, 2);
  EXPECT_EQ(interval->high, 9);
  EXPECT_EQ(interval->half_width(), 3.5);
}

TEST(MedianInterval, CoversTheMedianOfASkewedDistribution) {
  std::mt19937_64 random(1);
  std::exponential_distribution<double> exponential;
  int covered = 0;
  const int trials = 2000;
  for (int trial = 0; trial < trials; ++trial) {
    std::vector<double> values(20);
    for (double& value : values) value = exponential(random);
    const auto interval = MedianInterval(values, 0.05);
    covered += interval->low <= std::log(2.0) && std::log(2.0) <= interval->high;
  }
  // Exact coverage of ranks 6..15 of 20 is 95.86 %.
  EXPECT_GT(covered, 0.945 * trials);
  EXPECT_LT(covered, 0.972 * trials);
}

TEST(PairedRatio, DriftCommonToBothCancels) {
  std::vector<double> fast;
  std::vector<double> slow;
  for (int i = 0; i < 10; ++i) {
    const double drift = 1 + 0.1 * i;
    fast.push_back(1.0 * drift);
    slow.push_back(2.0 * drift);
  }
  const auto ratio = PairedRatio(slow, fast, 0.05);
  ASSERT_TRUE(ratio);
  EXPECT_NEAR(ratio->centre, 2, 1e-12);
  EXPECT_NEAR(ratio->low, 2, 1e-12);
  EXPECT_NEAR(ratio->high, 2, 1e-12);
}

TEST(PairedRatio, TooFewPairsGiveNoInterval) {
  const std::vector<double> two = {2, 2};
  const std::vector<double> one = {1, 1};
  const auto ratio = PairedRatio(two, one, 0.05);
  ASSERT_TRUE(ratio);
  EXPECT_NEAR(ratio->centre, 2, 1e-12);
  EXPECT_EQ(ratio->low, 0);
  EXPECT_EQ(ratio->high, 0);
  EXPECT_FALSE(PairedRatio({}, one, 0.05));
}

}  // namespace
}  // namespace kbench::stats
