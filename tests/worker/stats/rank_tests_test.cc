// Tests of hypotheses against published examples and by enumeration.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <tuple>
#include <vector>

#include "worker/stats/comparison.h"
#include "worker/stats/hodges_lehmann.h"
#include "worker/stats/sign_flip.h"

namespace kbench::stats {
namespace {

// The pain scores of Brunner and Munzel (2000), table 1: W = 3.1375, 17.68 degrees of freedom.
TEST(BrunnerMunzel, PublishedPainScores) {
  const std::vector<double> one = {1, 2, 1, 1, 1, 1, 1, 1, 1, 1, 2, 4, 1, 1};
  const std::vector<double> two = {3, 3, 4, 3, 1, 2, 3, 1, 1, 5, 4};
  EXPECT_NEAR(BrunnerMunzel(one, two), 0.0057862, 1e-6);
  EXPECT_NEAR(BrunnerMunzel(two, one), 0.0057862, 1e-6);
}

TEST(BrunnerMunzel, SidesThatDoNotOverlap) {
  const std::vector<double> low = {1, 2, 3, 4};
  const std::vector<double> high = {5, 6, 7, 8};
  EXPECT_NEAR(BrunnerMunzel(low, high), 2.0 / 70, 1e-12);  // 2 / C(8, 4)
  EXPECT_EQ(BrunnerMunzel(std::vector<double>{1, 1, 1, 1}, std::vector<double>{1, 1, 1, 1}), 1);
  EXPECT_EQ(BrunnerMunzel(std::vector<double>{1, 2, 3}, high), 1);
}

TEST(BrunnerMunzel, KeepsItsLevelWithUnequalSpreads) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> gauss;
  int rejected = 0;
  const int trials = 2000;
  for (int trial = 0; trial < trials; ++trial) {
    std::vector<double> wide(8);
    std::vector<double> narrow(27);
    for (double& value : wide) value = 4 * gauss(random);
    for (double& value : narrow) value = gauss(random);
    rejected += BrunnerMunzel(wide, narrow) < 0.05 ? 1 : 0;
  }
  EXPECT_LT(rejected, 0.075 * trials);  // Mann and Whitney's test would reject 15 %
  EXPECT_GT(rejected, 0.03 * trials);
}

TEST(SignFlip, SmallCasesByHand) {
  EXPECT_EQ(SignFlip({}, 1), 1);
  EXPECT_EQ(SignFlip(std::vector<double>{1, 2, 3}, 1), 2.0 / 8);
  // Sums at least as far as 0 + ... : |+-1 +-2 +-3| >= 4 holds for 6, 4 and their mirrors.
  EXPECT_EQ(SignFlip(std::vector<double>{-1, 2, 3}, 1), 4.0 / 8);
  EXPECT_EQ(SignFlip(std::vector<double>{0, 0, 0}, 1), 1);
  EXPECT_EQ(SignFlip(std::vector<double>(8, 0.1), 1), 2.0 / 256);
}

// Darwin's maize, the example by which Fisher introduced the test (The Design of Experiments, 1935,
// section 21): 863 of the 2^15 patterns reach the observed sum of 314, and as many its negative.
TEST(SignFlip, FishersMaize) {
  const std::vector<double> differences = {49, -67, 8,  16, 6,  23, 28, 41,
                                           14, 29,  56, 24, 75, 60, -48};
  EXPECT_NEAR(SignFlip(differences, 1), 2 * 863.0 / 32768, 1e-12);
}

TEST(SignFlip, DrawsAgreeWithTheEnumeration) {
  // 15 differences exactly, and the same with five zeros that change nothing: 20 are drawn.
  std::vector<double> differences = {49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48};
  differences.insert(differences.end(), 5, 0.0);
  const double p = SignFlip(differences, 1);
  EXPECT_NEAR(p, 2 * 863.0 / 32768, 0.006);  // four standard errors of 20,000 draws
  EXPECT_EQ(p, SignFlip(differences, 1)) << "the same seed gives the same p";
  EXPECT_NEAR(SignFlip(std::vector<double>(100, 0.1), 7), 1.0 / 20001, 1e-12);
}

class PublishedU : public testing::TestWithParam<std::tuple<int, int, int>> {};

// The largest U that is significant at 5 % two-sided, from the usual tables; the interval's rank is
// one more.
TEST_P(PublishedU, TwoSidedFivePercent) {
  const auto [n, m, critical] = GetParam();
  EXPECT_EQ(MannWhitneyRank(n, m, 0.05), critical + 1);
  EXPECT_EQ(MannWhitneyRank(m, n, 0.05), critical + 1);
}
INSTANTIATE_TEST_SUITE_P(Table, PublishedU,
                         testing::Values(std::tuple{4, 4, 0}, std::tuple{5, 5, 2},
                                         std::tuple{5, 8, 6}, std::tuple{8, 8, 13},
                                         std::tuple{10, 10, 23}, std::tuple{12, 18, 61},
                                         std::tuple{20, 20, 127}));

TEST(MannWhitneyRank, SmallAndLargeSides) {
  EXPECT_EQ(MannWhitneyRank(3, 4, 0.05), 0);
  EXPECT_EQ(MannWhitneyRank(0, 4, 0.05), 0);
  // The approximation joins the exact ranks.
  EXPECT_NEAR(MannWhitneyRank(61, 60, 0.05) - MannWhitneyRank(60, 60, 0.05), 24, 3);
}

TEST(HodgesLehmann, MedianOfAllDifferences) {
  const std::vector<double> a = {1, 5, 9, 13};
  const std::vector<double> b = {0, 1, 2, 3};
  const Shift shift = HodgesLehmann(a, b, 0.05);
  EXPECT_TRUE(shift.valid);
  EXPECT_EQ(shift.interval.centre, 5.5);
  EXPECT_EQ(shift.interval.low, -2);  // 1 - 3
  EXPECT_EQ(shift.interval.high, 13);
  const std::vector<double> three = {1, 5, 9};
  EXPECT_FALSE(HodgesLehmann(three, b, 0.05).valid);
  EXPECT_EQ(HodgesLehmann(three, b, 0.05).interval.high, 0);
}

// The 15 p-values of Benjamini and Hochberg (1995), section 4.1: the procedure rejects four at 5 %.
TEST(AdjustedPValues, PublishedExample) {
  std::vector<double> p = {0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
                           0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000};
  const std::vector<double> expected = {0.0015,   0.003,    0.0095,   0.035625, 0.0603,
                                        0.063857, 0.063857, 0.0645,   0.0765,   0.486,
                                        0.581182, 0.714875, 0.753231, 0.813214, 1.0};
  const auto adjusted = AdjustedPValues(p);
  for (std::size_t i = 0; i < p.size(); ++i) EXPECT_NEAR(adjusted[i], expected[i], 1e-6) << i;
  EXPECT_EQ(std::count_if(adjusted.begin(), adjusted.end(), [](double q) { return q <= 0.05; }), 4);

  std::reverse(p.begin(), p.end());
  EXPECT_NEAR(AdjustedPValues(p)[14], 0.0015, 1e-12) << "in the order given";
  EXPECT_TRUE(AdjustedPValues({}).empty());
}

}  // namespace
}  // namespace kbench::stats
