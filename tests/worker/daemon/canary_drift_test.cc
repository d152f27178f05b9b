#include "worker/daemon/canary_drift.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace kbench {
namespace {

using testing::HasSubstr;

std::vector<CanarySession> Sessions(const char* cell, const std::vector<double>& ratios) {
  std::vector<CanarySession> sessions;
  for (const double ratio : ratios) sessions.push_back({cell, std::log(1e-3 * ratio), 0});
  return sessions;
}

TEST(CanaryDrift, TooFewEarlierSessionsSayNothing) {
  const CanaryDrift drift = DriftOf(Sessions("a", {1, 1, 1, 1, 2}), 0.03);
  EXPECT_EQ(drift.ratio, 0);
  EXPECT_FALSE(drift.drifting);
  EXPECT_EQ(DriftOf({}, 0.03).ratio, 0);
}

TEST(CanaryDrift, BeyondTheBoundInEitherDirection) {
  struct Row {
    double newest;
    bool drifting;
  };
  for (const Row& row :
       {Row{1.0, false}, {1.029, false}, {1.04, true}, {0.98, false}, {0.95, true}}) {
    const CanaryDrift drift = DriftOf(Sessions("sum", {1, 1, 1, 1, 1, row.newest}), 0.03);
    EXPECT_EQ(drift.drifting, row.drifting) << row.newest;
    EXPECT_NEAR(drift.ratio, row.newest, 1e-9);
    EXPECT_EQ(drift.message.empty(), !row.drifting);
  }
  EXPECT_THAT(
      DriftOf(Sessions("sum", {1, 1, 1, 1, 1, 1.08}), 0.03).message,
      HasSubstr("the canary sum takes 8.0 % longer than the device's 5 earlier ones; 3.0 %"));
}

TEST(CanaryDrift, ARestlessDeviceHasAWiderBound) {
  const auto sessions = Sessions("a", {0.98, 1.02, 1, 0.97, 1.03, 1.06});
  EXPECT_FALSE(DriftOf(sessions, 0.03).drifting);
  EXPECT_GT(DriftOf(sessions, 0.03).bound, 0.08);
}

TEST(CanaryDrift, TheCellThatMovedMostCounts) {
  auto sessions = Sessions("still", {1, 1, 1, 1, 1, 1});
  for (const CanarySession& one : Sessions("moved", {1, 1, 1, 1, 1, 1.2})) sessions.push_back(one);
  const CanaryDrift drift = DriftOf(sessions, 0.03);
  EXPECT_NEAR(drift.ratio, 1.2, 1e-9);
  EXPECT_THAT(drift.message, HasSubstr("moved"));
}

TEST(MarkDrift, AValidNumberBecomesSuspectAndTheOthersKeepTheirVerdict) {
  v1::Result result;
  result.set_outcome(v1::OUTCOME_OK);
  result.set_verdict(v1::VERDICT_VALID);
  MarkDrift("it drifts", &result);
  EXPECT_EQ(result.verdict(), v1::VERDICT_SUSPECT);
  EXPECT_THAT(result.verdict_reasons(), testing::ElementsAre("CANARY_DRIFT"));
  EXPECT_EQ(result.message(), "it drifts");
  result.set_verdict(v1::VERDICT_INVALID);
  result.set_message("too hot");
  MarkDrift("it drifts", &result);
  EXPECT_EQ(result.verdict(), v1::VERDICT_INVALID);
  EXPECT_EQ(result.message(), "too hot; it drifts");
  v1::Result crashed;
  crashed.set_outcome(v1::OUTCOME_CRASHED);
  MarkDrift("it drifts", &crashed);
  EXPECT_EQ(crashed.verdict_reasons_size(), 0);
}

}  // namespace
}  // namespace kbench
