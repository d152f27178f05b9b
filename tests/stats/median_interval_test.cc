#include "stats/median_interval.h"

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

TEST(MedianInterval, LiesBetweenOrderStatistics) {
  // Ranks 2..9 cover 97.85 %, ranks 3..8 cover 89.06 %: 95 % lies 65.8 % of the way inwards
  // (Hettmansperger and Sheather's lambda for n = 10, k = 2).
  const std::vector<double> values = {5, 3, 9, 1, 7, 2, 8, 4, 6, 10};
  const auto interval = MedianInterval(values, 0.05);
  ASSERT_TRUE(interval);
  EXPECT_EQ(interval->centre, 5.5);
  EXPECT_NEAR(interval->low, 2.65766, 1e-4);
  EXPECT_NEAR(interval->high, 8.34234, 1e-4);
  EXPECT_NEAR(interval->half_width(), 2.84234, 1e-4);
}

TEST(MedianInterval, WholeRanksWhereTheyFitExactly) {
  const std::vector<double> values = {5, 3, 9, 1, 7, 2, 8, 4, 6, 10};
  const auto interval = MedianInterval(values, 1 - RanksOfMedian(10, 0.05)->coverage);
  ASSERT_TRUE(interval);
  EXPECT_NEAR(interval->low, 2, 1e-9);
  EXPECT_NEAR(interval->high, 9, 1e-9);
}

TEST(MedianInterval, FewValues) {
  const std::vector<double> six = {1, 2, 3, 4, 5, 6};
  EXPECT_TRUE(MedianInterval(six, 0.05));
  EXPECT_FALSE(MedianInterval(std::span(six).first(5), 0.05));
  const std::vector<double> two = {1, 2};
  const auto interval = MedianInterval(two, 0.5);  // its ranks 1..2 have no inner pair
  ASSERT_TRUE(interval);
  EXPECT_EQ(interval->low, 1);
  EXPECT_EQ(interval->high, 2);
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
  // Whole ranks would cover 95.86 %.
  EXPECT_GT(covered, 0.94 * trials);
  EXPECT_LT(covered, 0.96 * trials);
}

}  // namespace
}  // namespace kbench::stats
