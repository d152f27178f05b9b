#include "client/hold/hold_clock.h"

#include "gtest/gtest.h"

namespace kbench::client {
namespace {

using Beat = HoldClock::Beat;

TEST(HoldClockTest, WarnsFiveMinutesBeforeTheEnd) {
  HoldClock clock(1000, 1800);
  EXPECT_EQ(clock.NextIn(1000), 1500);
  EXPECT_EQ(clock.Due(2499), Beat::kNone);
  EXPECT_EQ(clock.Due(2500), Beat::kWarn);
  EXPECT_EQ(clock.left(2500), 300);
  EXPECT_EQ(clock.Due(2500), Beat::kNone) << "once";
  EXPECT_EQ(clock.NextIn(2500), 300);
  EXPECT_EQ(clock.Due(2800), Beat::kEnd);
  EXPECT_EQ(clock.NextIn(2800), 10);
  EXPECT_EQ(clock.Due(2809), Beat::kNone);
  EXPECT_EQ(clock.Due(2810), Beat::kKill);
  EXPECT_EQ(clock.Due(99999), Beat::kNone);
  EXPECT_GT(clock.NextIn(99999), 3600);
}

TEST(HoldClockTest, AShortOneAtHalfOfItsTime) {
  HoldClock clock(0, 60);
  EXPECT_EQ(clock.Due(29.9), Beat::kNone);
  EXPECT_EQ(clock.Due(30), Beat::kWarn);
  EXPECT_EQ(clock.Due(60), Beat::kEnd);
  HoldClock ten_minutes(0, 600);
  EXPECT_EQ(ten_minutes.NextIn(0), 300);
}

TEST(HoldClockTest, ALateLookFindsOneAfterTheOther) {
  HoldClock clock(0, 60);
  EXPECT_EQ(clock.Due(500), Beat::kWarn);
  EXPECT_EQ(clock.Due(500), Beat::kEnd);
  EXPECT_EQ(clock.Due(500), Beat::kKill);
  EXPECT_EQ(clock.Due(500), Beat::kNone);
}

TEST(HoldClockTest, WhatIsLostEndsNowWithoutAWarning) {
  HoldClock clock(0, 3600);
  clock.EndNow(100);
  EXPECT_EQ(clock.Due(100), Beat::kEnd);
  EXPECT_EQ(clock.Due(109), Beat::kNone);
  EXPECT_EQ(clock.Due(110), Beat::kKill);
  clock.EndNow(200);
  EXPECT_EQ(clock.Due(200), Beat::kNone) << "it had ended before";
}

TEST(HoldClockTest, AHoldThatIsAlmostOver) {
  HoldClock clock(0, 0);
  EXPECT_EQ(clock.Due(0), Beat::kWarn);
  EXPECT_EQ(clock.Due(0), Beat::kEnd);
}

}  // namespace
}  // namespace kbench::client
