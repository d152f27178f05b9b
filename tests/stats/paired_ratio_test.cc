#include "stats/paired_ratio.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace kbench::stats {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(CommonRoundsTest, GoByNumberAndNotByPlace) {
  EXPECT_THAT(CommonRounds(std::vector{1, 3, 4}, std::vector{0, 1, 2, 3}),
              ElementsAre(Pair(0, 1), Pair(1, 3)));
  EXPECT_THAT(CommonRounds(std::vector{1, 2}, std::vector{3}), IsEmpty());
  EXPECT_THAT(CommonRounds({}, std::vector{3}), IsEmpty());
}

TEST(LogRatiosTest, UnusablePairsDoNotCount) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> a = {2, 0, nan, 8, 5};
  const std::vector<double> b = {1, 1, 1, 2};
  const std::vector<double> logs = LogRatios(a, b);
  ASSERT_EQ(logs.size(), 2u);
  EXPECT_DOUBLE_EQ(logs[0], std::log(2));
  EXPECT_DOUBLE_EQ(logs[1], std::log(4));
}

TEST(RatioOfTest, IsTheMedianWithAnIntervalFromSixPairsOn) {
  const auto logs = [](std::vector<double> ratios) {
    for (double& ratio : ratios) ratio = std::log(ratio);
    return ratios;
  };
  const Interval five = RatioOf(logs({1, 2, 3, 4, 5}));
  EXPECT_NEAR(five.centre, 3, 1e-12);
  EXPECT_EQ(five.low, 0);
  EXPECT_EQ(five.high, 0);
  const Interval six = RatioOf(logs({1, 2, 2, 2, 2, 3}));
  EXPECT_NEAR(six.centre, 2, 1e-12);
  EXPECT_GE(six.low, 1 - 1e-12);
  EXPECT_LT(six.low, 2);
  EXPECT_GT(six.high, 2);
  EXPECT_LE(six.high, 3 + 1e-12);
}

}  // namespace
}  // namespace kbench::stats
