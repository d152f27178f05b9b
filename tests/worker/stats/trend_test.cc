#include "worker/stats/trend.h"

#include <gtest/gtest.h>

#include <vector>

namespace kbench::stats {
namespace {

TEST(Spearman, MonotoneSeriesGiveOne) {
  const std::vector<double> rising = {1, 4, 9, 16, 25};
  const std::vector<double> falling = {5, 4, 3, 2, 1};
  EXPECT_DOUBLE_EQ(SpearmanWithIndex(rising), 1);
  EXPECT_DOUBLE_EQ(SpearmanWithIndex(falling), -1);
}

TEST(Spearman, PublishedExample) {
  // IQ against hours of television, the example of the Wikipedia article: -29/165.
  const std::vector<double> iq = {106, 100, 86, 101, 99, 103, 97, 113, 112, 110};
  const std::vector<double> hours = {7, 27, 2, 50, 28, 29, 20, 12, 6, 17};
  EXPECT_NEAR(Spearman(iq, hours), -29.0 / 165, 1e-12);
}

TEST(Spearman, TiesTakeMeanRanks) {
  const std::vector<double> ties = {1, 1, 2, 2};
  EXPECT_NEAR(SpearmanWithIndex(ties), 0.894427190999916, 1e-12);
}

TEST(Spearman, ConstantOrShortSeriesAreZero) {
  const std::vector<double> constant = {3, 3, 3, 3};
  const std::vector<double> two = {1, 2};
  EXPECT_EQ(SpearmanWithIndex(constant), 0);
  EXPECT_EQ(SpearmanWithIndex(two), 0);
}

TEST(TheilSen, SlopeIgnoresAnOutlier) {
  std::vector<double> line;
  for (int i = 0; i < 11; ++i) line.push_back(5 + 0.5 * i);
  line[5] = 1000;
  EXPECT_NEAR(TheilSenSlope(line), 0.5, 0.05);
}

TEST(TheilSen, ShortSeriesAreFlat) {
  EXPECT_EQ(TheilSenSlope({}), 0);
  const std::vector<double> one = {1};
  EXPECT_EQ(TheilSenSlope(one), 0);
}

}  // namespace
}  // namespace kbench::stats
