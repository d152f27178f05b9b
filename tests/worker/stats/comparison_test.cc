#include "worker/stats/comparison.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace kbench::stats {
namespace {

using enum ComparisonVerdict;

TEST(VerdictOf, WholeIntervalDecides) {
  EXPECT_EQ(VerdictOf({0.9, 0.85, 0.98}, 0.01), kFaster);
  EXPECT_EQ(VerdictOf({1.1, 1.02, 1.2}, 0.01), kSlower);
  EXPECT_EQ(VerdictOf({1, 0.995, 1.005}, 0.01), kEquivalent);
  EXPECT_EQ(VerdictOf({1.02, 1.005, 1.04}, 0.01), kInconclusive);
  EXPECT_EQ(VerdictOf({0.98, 0.96, 0.995}, 0.01), kInconclusive);
  EXPECT_EQ(VerdictOf({1, 0.9, 1.1}, 0.01), kInconclusive);
  EXPECT_EQ(VerdictOf({1.1, 1.02, 1.2}, 0.05), kInconclusive);
  EXPECT_EQ(VerdictOf({2, 0, 0}, 0.01), kInconclusive) << "no interval";
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(VerdictOf({nan, nan, nan}, 0.01), kInconclusive);
}

TEST(VerdictOf, SwappingSidesSwapsTheVerdict) {
  const Interval ratio = {1.02, 1.0101, 1.03};
  EXPECT_EQ(VerdictOf(ratio, 0.01), kSlower);
  EXPECT_EQ(VerdictOf({1 / ratio.centre, 1 / ratio.high, 1 / ratio.low}, 0.01), kFaster);
}

TEST(VerdictName, Words) {
  EXPECT_STREQ(VerdictName(kFaster), "faster");
  EXPECT_STREQ(VerdictName(kSlower), "slower");
  EXPECT_STREQ(VerdictName(kEquivalent), "equivalent");
  EXPECT_STREQ(VerdictName(kInconclusive), "inconclusive");
}

TEST(ComparePaired, DriftCommonToBothCancels) {
  std::vector<double> fast;
  std::vector<double> slow;
  for (int i = 0; i < 10; ++i) {
    const double drift = 1 + 0.1 * i;
    fast.push_back(1.0 * drift);
    slow.push_back(2.0 * drift);
  }
  const auto comparison = ComparePaired(slow, fast, 0.01);
  EXPECT_NEAR(comparison.ratio.centre, 2, 1e-12);
  EXPECT_NEAR(comparison.ratio.low, 2, 1e-12);
  EXPECT_NEAR(comparison.ratio.high, 2, 1e-12);
  EXPECT_EQ(comparison.verdict, kSlower);
  EXPECT_EQ(comparison.pairs, 10);
  EXPECT_EQ(comparison.p_value, 2.0 / 1024);
}

TEST(ComparePaired, FewOrUnusablePairs) {
  const std::vector<double> two = {2, 2, 2, 2, 2};
  const std::vector<double> one = {1, 1, 1, 1, 1};
  const auto few = ComparePaired(two, one, 0.01);
  EXPECT_NEAR(few.ratio.centre, 2, 1e-12);
  EXPECT_EQ(few.ratio.low, 0);
  EXPECT_EQ(few.ratio.high, 0);
  EXPECT_EQ(few.verdict, kInconclusive);

  const auto none = ComparePaired({}, one, 0.01);
  EXPECT_EQ(none.pairs, 0);
  EXPECT_EQ(none.p_value, 1);
  EXPECT_EQ(none.ratio.centre, 0);

  const std::vector<double> broken = {1, 0, -1, std::nan(""), 1};
  const auto cleaned = ComparePaired(broken, one, 0.01);
  EXPECT_EQ(cleaned.pairs, 2);
  EXPECT_EQ(cleaned.ratio.centre, 1);
}

TEST(CompareUnpaired, WidenedByWhatChangesBetweenSessions) {
  const std::vector<double> a = {2.00, 2.01, 1.99, 2.02, 1.98, 2.00, 2.01, 1.99};
  const std::vector<double> b = {1.00, 1.01, 0.99, 1.02, 0.98, 1.00, 1.01, 0.99};
  const auto bare = CompareUnpaired(a, b, 0.01, 0);
  const auto widened = CompareUnpaired(a, b, 0.01, 0.02);
  EXPECT_NEAR(bare.ratio.centre, 2, 0.01);
  EXPECT_EQ(widened.ratio.centre, bare.ratio.centre);
  const double half = std::log(bare.ratio.high / bare.ratio.centre);
  EXPECT_NEAR(std::log(widened.ratio.high / widened.ratio.centre),
              std::hypot(half, 1.959964 * std::sqrt(2.0) * 0.02), 1e-6);
  EXPECT_EQ(widened.verdict, kSlower);
  EXPECT_NEAR(widened.p_value, 2.0 / 12870, 1e-12);  // they do not overlap: 2 / C(16, 8)
}

TEST(CompareUnpaired, TooFewRounds) {
  const std::vector<double> three = {1, 1, 1};
  const std::vector<double> many(20, 2.0);
  const auto comparison = CompareUnpaired(three, many, 0.01, 0.003);
  EXPECT_NEAR(comparison.ratio.centre, 0.5, 1e-12);
  EXPECT_EQ(comparison.ratio.low, 0);
  EXPECT_EQ(comparison.verdict, kInconclusive);
  EXPECT_EQ(comparison.p_value, 1);
}

// Twice the same program on two days whose shift is what the canaries say: hardly ever a
// difference; a real one of 5 % is found.
TEST(CompareUnpaired, SessionsApart) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> gauss;
  const auto session = [&](double median) {
    const double shift = 0.004 * gauss(random);
    std::vector<double> rounds(12);
    for (double& round : rounds) round = median * (1 + shift + 0.002 * gauss(random));
    return rounds;
  };
  int covered = 0;
  int alarms = 0;
  int found = 0;
  const int trials = 2000;
  for (int trial = 0; trial < trials; ++trial) {
    const auto same = CompareUnpaired(session(1), session(1), 0.01, 0.004);
    covered += same.ratio.low <= 1 && 1 <= same.ratio.high;
    alarms += same.verdict == kFaster || same.verdict == kSlower;
    found += CompareUnpaired(session(1.05), session(1), 0.01, 0.004).verdict == kSlower;
  }
  // 95 %, give or take three standard errors of the simulation.
  EXPECT_GE(covered, 0.935 * trials);
  EXPECT_LE(covered, 0.965 * trials);
  EXPECT_LE(alarms, 0.01 * trials);
  EXPECT_GE(found, 0.95 * trials);
}

TEST(Lag1Correlation, FindsWhatIsThere) {
  std::mt19937_64 random(2);
  std::normal_distribution<double> gauss;
  for (const double rho : {-0.3, 0.0, 0.3, 0.6}) {
    for (const std::size_t length : {10u, 50u}) {
      std::vector<std::vector<double>> rounds(200);
      for (auto& round : rounds) {
        double state = gauss(random);
        for (std::size_t i = 0; i < length; ++i) {
          round.push_back(1 + 0.01 * state);
          state = rho * state + std::sqrt(1 - rho * rho) * gauss(random);
        }
      }
      EXPECT_NEAR(Lag1Correlation(rounds), rho, 0.04) << length;
      for (std::size_t i = 0; i < rounds.size(); ++i) {
        for (double& value : rounds[i]) value += 0.1 * static_cast<double>(i);
      }
      EXPECT_NEAR(Lag1Correlation(rounds), rho, 0.04) << "shifts between rounds do not count";
    }
  }
}

TEST(Lag1Correlation, LittleDataIsZero) {
  EXPECT_EQ(Lag1Correlation({}), 0);
  const std::vector<std::vector<double>> short_ones(100, {1, 2, 1, 2, 1});
  EXPECT_EQ(Lag1Correlation(short_ones), 0);
  const std::vector<std::vector<double>> constant = {std::vector<double>(50, 1.0)};
  EXPECT_EQ(Lag1Correlation(constant), 0);
  const std::vector<std::vector<double>> nine_pairs = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}};
  EXPECT_EQ(Lag1Correlation(nine_pairs), 0);
}

TEST(Widened, InQuadrature) {
  const auto wide = Widened({100, 97, 104}, 0.02, 0.95);
  EXPECT_EQ(wide.centre, 100);
  const double session = 1.959964 * 0.02 * 100;
  EXPECT_NEAR(wide.low, 100 - std::hypot(3, session), 1e-5);
  EXPECT_NEAR(wide.high, 100 + std::hypot(4, session), 1e-5);
  EXPECT_EQ(Widened({100, 0, 0}, 0.02, 0.95).high, 0) << "no interval stays none";
}

TEST(BetweenSessionRatio, PriorUntilFiveCanaries) {
  EXPECT_EQ(BetweenSessionRatio(0.001, 4), 0.003);
  EXPECT_EQ(BetweenSessionRatio(0.001, 5), 0.003) << "minutes do not show what hours do";
  EXPECT_EQ(BetweenSessionRatio(0.004, 5), 0.004);
  EXPECT_EQ(BetweenSessionRatio(0.001, 20), 0.001);
  EXPECT_EQ(BetweenSessionRatio(0, 20), 0) << "sessions that do not move are measured too";
  EXPECT_EQ(BetweenSessionRatio(0, 0), 0.003);
  for (const double senseless : {std::nan(""), HUGE_VAL, -0.001}) {
    EXPECT_EQ(BetweenSessionRatio(senseless, 50), 0.003);
  }
}

}  // namespace
}  // namespace kbench::stats
