// When a running case will end, from what is remembered of such cases and from its rounds.
#include "server/rpc/running_progress.h"

#include <gtest/gtest.h>

#include "proto/support/clock.h"

namespace kbench::server {
namespace {

constexpr double kStart = 1000;

scheduler::Case Running() {
  scheduler::Case item;
  item.state = scheduler::State::kRunning;
  item.started_at = kStart;
  item.estimate = 10;
  item.estimate_low = 5;
  item.estimate_high = 30;
  return item;
}

kbench::v1::Progress At(const char* phase, int round = 0, double interval = 0) {
  kbench::v1::Progress progress;
  progress.set_phase(phase);
  progress.set_round(round);
  progress.set_max_rounds(60);
  progress.set_interval_ratio(interval);
  return progress;
}

TEST(YieldOf, RemembersUntilRoundsAreKnown) {
  const auto window = YieldOf(Running(), {}, nullptr, kStart + 1);
  ASSERT_TRUE(window.known);
  EXPECT_DOUBLE_EQ(window.earliest, kStart + 5);
  EXPECT_DOUBLE_EQ(window.latest, kStart + 30);
  RunningProgress progress;
  Note(7, At("prepare"), kStart + 2, progress);
  EXPECT_DOUBLE_EQ(YieldOf(Running(), {}, &progress, kStart + 2).latest, kStart + 30);
}

TEST(YieldOf, ThePaceOfTheRoundsAndTheIntervalSayMore) {
  RunningProgress progress;
  Note(7, At("measure", 2, 0.02), kStart + 4, progress);
  Note(7, At("measure", 10, 0.01), kStart + 8, progress);  // half a second a round
  kbench::v1::JobSpec spec;
  spec.mutable_policy()->set_target_ratio(0.01);
  auto window = YieldOf(Running(), spec, &progress, kStart + 8);
  ASSERT_TRUE(window.known);
  EXPECT_DOUBLE_EQ(window.earliest, kStart + 8) << "the target is reached";
  EXPECT_LT(window.latest, kStart + 8 + 0.5 * 10 + 3);
  // Half as wide takes four times the rounds.
  spec.mutable_policy()->set_target_ratio(0.005);
  window = YieldOf(Running(), spec, &progress, kStart + 8);
  EXPECT_DOUBLE_EQ(window.earliest, kStart + 8 + 0.5 * (0.7 * 40 - 10));
  EXPECT_DOUBLE_EQ(window.latest, kStart + 8 + 0.5 * (60 - 10) + 2) << "never beyond max_rounds";
}

TEST(YieldOf, TheBudgetBoundsIt) {
  RunningProgress progress;
  Note(7, At("measure", 1, 0.5), kStart + 4, progress);
  Note(7, At("measure", 2, 0.5), kStart + 24, progress);
  kbench::v1::JobSpec spec;
  *spec.mutable_policy()->mutable_case_budget() = ToDuration(50);
  const auto window = YieldOf(Running(), spec, &progress, kStart + 24);
  EXPECT_DOUBLE_EQ(window.latest, kStart + 60);
  EXPECT_LE(window.earliest, window.latest);
}

TEST(YieldOf, WhoWaitsForOthersIsNotKnownAndBeginsAnewThen) {
  RunningProgress progress;
  Note(7, At("wait"), kStart + 100, progress);
  EXPECT_TRUE(WaitsForOthers(&progress));
  EXPECT_FALSE(YieldOf(Running(), {}, &progress, kStart + 100).known);
  Note(7, At("prepare"), kStart + 101, progress);
  EXPECT_FALSE(WaitsForOthers(&progress));
  EXPECT_DOUBLE_EQ(YieldOf(Running(), {}, &progress, kStart + 101).earliest, kStart + 105);
}

TEST(YieldOf, LongerThanExpectedIsStillARange) {
  const auto window = YieldOf(Running(), {}, nullptr, kStart + 200);
  ASSERT_TRUE(window.known);
  EXPECT_DOUBLE_EQ(window.earliest, kStart + 200);
  EXPECT_DOUBLE_EQ(window.latest, kStart + 250);
}

TEST(YieldOf, AHoldMayEndAtAnyTimeBeforeItsOwn) {
  kbench::v1::JobSpec spec;
  *spec.mutable_hold()->mutable_duration() = ToDuration(1800);
  auto window = YieldOf(Running(), spec, nullptr, kStart + 60);
  EXPECT_DOUBLE_EQ(window.earliest, kStart + 60);
  EXPECT_DOUBLE_EQ(window.latest, kStart + 1800);
  window = YieldOf(Running(), spec, nullptr, kStart + 1900);
  EXPECT_DOUBLE_EQ(window.latest, kStart + 1900);
}

TEST(Note, ANewerAttemptBeginsAnew) {
  RunningProgress progress;
  Note(7, At("measure", 40), kStart, progress);
  Note(8, At("measure", 3), kStart + 9, progress);
  EXPECT_EQ(progress.measure_round, 3);
  EXPECT_DOUBLE_EQ(progress.measure_since, kStart + 9);
  // Rounds that were thrown away count from the start again.
  Note(8, At("measure", 10), kStart + 12, progress);
  Note(8, At("measure", 1), kStart + 13, progress);
  EXPECT_EQ(progress.measure_round, 1);
}

}  // namespace
}  // namespace kbench::server
