#include "stats/summary.h"

#include <gtest/gtest.h>

#include <vector>

namespace kbench::stats {
namespace {

const std::vector<double> kOneToTen = {10, 1, 9, 2, 8, 3, 7, 4, 6, 5};

TEST(Summary, QuantilesAreType7) {
  // The values of numpy.quantile(range(1, 11), ...).
  const auto sorted = Sorted(kOneToTen);
  EXPECT_DOUBLE_EQ(QuantileSorted(sorted, 0), 1);
  EXPECT_DOUBLE_EQ(QuantileSorted(sorted, 0.05), 1.45);
  EXPECT_DOUBLE_EQ(QuantileSorted(sorted, 0.25), 3.25);
  EXPECT_DOUBLE_EQ(QuantileSorted(sorted, 0.5), 5.5);
  EXPECT_DOUBLE_EQ(QuantileSorted(sorted, 0.95), 9.55);
  EXPECT_DOUBLE_EQ(QuantileSorted(sorted, 1), 10);
}

TEST(Summary, OneValueIsEveryQuantile) {
  const std::vector<double> one = {3};
  EXPECT_EQ(QuantileSorted(one, 0), 3);
  EXPECT_EQ(QuantileSorted(one, 0.99), 3);
  EXPECT_EQ(Median(one), 3);
  EXPECT_EQ(Mad(one), 0);
  EXPECT_EQ(StdDev(one), 0);
}

TEST(Summary, MedianAndMadIgnoreAnOutlier) {
  const std::vector<double> values = {1, 2, 3, 4, 1000};
  EXPECT_EQ(Median(values), 3);
  EXPECT_EQ(Mad(values), 1);
}

TEST(Summary, MeanAndStdDev) {
  EXPECT_DOUBLE_EQ(Mean(kOneToTen), 5.5);
  EXPECT_NEAR(StdDev(kOneToTen), 3.0276503540974917, 1e-14);
}

TEST(Summary, StdDevDoesNotCancel) {
  const std::vector<double> values = {1e9 + 1, 1e9 + 2, 1e9 + 3};
  EXPECT_NEAR(StdDev(values), 1, 1e-9);
}

}  // namespace
}  // namespace kbench::stats
