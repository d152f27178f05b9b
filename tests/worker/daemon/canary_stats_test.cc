#include "worker/daemon/canary_stats.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace kbench {
namespace {

TEST(CanaryStats, ASessionIsTheMedianOfItsBurstsAndTheirSpread) {
  const std::vector<double> bursts = {1.00e-3, 1.01e-3, 1.02e-3};
  const CanarySession session = SessionOf("cell", bursts);
  EXPECT_NEAR(session.log_median, std::log(1.01e-3), 1e-12);
  // The variance of the logs is about 1e-4; of a median of three pi/2 * 1e-4 / 3.
  EXPECT_NEAR(session.within_variance, 5.13e-5, 1e-6);
  EXPECT_EQ(SessionOf("cell", std::vector<double>{2.0}).within_variance, 0);
}

std::vector<CanarySession> Sessions(const char* cell, const std::vector<double>& percents,
                                    double within_ratio) {
  std::vector<CanarySession> sessions;
  for (const double percent : percents) {
    sessions.push_back({cell, std::log(1e-3) + percent / 100, within_ratio * within_ratio});
  }
  return sessions;
}

TEST(CanaryStats, TheSpreadBetweenSessionsIsRobustAndLessTheSpreadWithin) {
  // Distances from the median 0: 1, 0.5, 0, 0.5, 40. Their median is 0.5 %.
  auto sessions = Sessions("a", {-1, -0.5, 0, 0.5, 40}, 0);
  EXPECT_NEAR(BetweenSessionRatio(sessions), 1.4826 * 0.005, 1e-9);
  sessions = Sessions("a", {-1, -0.5, 0, 0.5, 40}, 0.004);
  EXPECT_NEAR(BetweenSessionRatio(sessions), std::sqrt(0.007413 * 0.007413 - 0.004 * 0.004), 1e-6);
  sessions = Sessions("a", {-1, -0.5, 0, 0.5, 40}, 0.02);
  EXPECT_EQ(BetweenSessionRatio(sessions), 0) << "never below zero, never NaN";
}

TEST(CanaryStats, TheWorseCellCountsAndOldSessionsDoNot) {
  auto sessions = Sessions("wild", std::vector<double>(20, 5.0), 0);
  const auto calm = Sessions("calm", {0, 0.1, 0.2}, 0);
  sessions.insert(sessions.end(), calm.begin(), calm.end());
  EXPECT_NEAR(BetweenSessionRatio(sessions), 1.4826 * 0.001, 1e-9);
  // Twenty newer ones push the first twenty out.
  std::vector<double> newer;
  for (int i = 0; i < 20; ++i) newer.push_back(i % 2 == 0 ? 0 : 2);
  const auto latest = Sessions("wild", newer, 0);
  sessions.insert(sessions.end(), latest.begin(), latest.end());
  EXPECT_NEAR(BetweenSessionRatio(sessions), 1.4826 * 0.01, 1e-9);
  EXPECT_EQ(SessionCount(sessions), 20);
  KeepLatest(&sessions);
  EXPECT_EQ(sessions.size(), 23u);
  EXPECT_NEAR(BetweenSessionRatio(sessions), 1.4826 * 0.01, 1e-9);
}

TEST(CanaryStats, NothingIsZero) {
  EXPECT_EQ(BetweenSessionRatio({}), 0);
  EXPECT_EQ(SessionCount({}), 0);
  EXPECT_EQ(BetweenSessionRatio(Sessions("a", {3}, 0)), 0);
}

}  // namespace
}  // namespace kbench
