#include "server/scheduler/usage.h"

#include <gtest/gtest.h>

namespace kbench::scheduler {
namespace {

constexpr double kDay = 24 * 3600;
constexpr double kNow = 1.8e9;  // as a wall clock says

TEST(Usage, HalvesEveryHalfLife) {
  Usage usage(kDay);
  usage.Rebase(kNow);
  Owner& ana = usage.Of("ana");
  usage.Add(kNow, ana, 1000);
  EXPECT_NEAR(usage.Seconds(kNow, ana), 1000, 1e-6);
  EXPECT_NEAR(usage.Seconds(kNow + kDay, ana), 500, 1e-6);
  EXPECT_NEAR(usage.Seconds(kNow + 2.5 * kDay, ana), 176.78, 0.01);
}

TEST(Usage, AChargeStandsUntilItIsSettledWithWhatItTook) {
  Usage usage(kDay);
  usage.Rebase(kNow);
  Owner& ana = usage.Of("ana");
  usage.Charge(kNow, ana, 60);
  EXPECT_NEAR(usage.Seconds(kNow, ana), 60, 1e-6);
  usage.Charge(kNow + 10, ana, 30);
  usage.Settle(kNow, ana, 60, 20);
  EXPECT_NEAR(usage.Seconds(kNow + 10, ana), 50, 0.01);
  EXPECT_NEAR(usage.Durable(kNow + 10, ana).seconds, 20, 0.01) << "what runs is not stored";
  usage.Settle(kNow + 10, ana, 30, 0);
  EXPECT_NEAR(usage.Seconds(kNow + 10, ana), 20, 0.01);
  EXPECT_EQ(ana.charged, 0);
}

TEST(Usage, ALaterSecondCountsMoreThanAnEarlierOne) {
  Usage usage(kDay);
  usage.Rebase(kNow);
  Owner& ana = usage.Of("ana");
  Owner& bob = usage.Of("bob");
  usage.Add(kNow, ana, 100);
  usage.Add(kNow + kDay, bob, 60);
  EXPECT_GT(bob.weighted(), ana.weighted()) << "60 now against 50 left of yesterday's 100";
}

TEST(Usage, SurvivesARestart) {
  Usage before(kDay);
  before.Rebase(kNow);
  before.Add(kNow, before.Of("ana"), 1000);
  const OwnerUsage stored = before.Durable(kNow + kDay / 2, before.Of("ana"));
  Usage after(kDay);
  after.Restore(kNow + kDay, stored);
  EXPECT_NEAR(after.Seconds(kNow + kDay, after.Of("ana")), 500, 1e-6);
}

TEST(Usage, AClockThatJumpsBackNeitherRaisesNorLosesAnything) {
  Usage usage(kDay);
  usage.Restore(kNow, {"ana", 1000, kNow + 30 * kDay});  // stored by a clock a month ahead
  EXPECT_NEAR(usage.Seconds(kNow, usage.Of("ana")), 1000, 1e-6);
  EXPECT_NEAR(usage.Seconds(kNow - 100 * kDay, usage.Of("ana")), 1000, 1e-6);
  EXPECT_NEAR(usage.Seconds(kNow + kDay, usage.Of("ana")), 500, 1e-6);
  usage.Restore(kNow, {"bob", -5, kNow});
  EXPECT_EQ(usage.Seconds(kNow, usage.Of("bob")), 0);
}

TEST(Usage, YearsWithoutARestartOverflowNothing) {
  Usage usage(kDay);
  usage.Rebase(kNow);
  Owner& ana = usage.Of("ana");
  bool rebased = false;
  for (int day = 0; day < 3000; ++day) {
    rebased = usage.Rebase(kNow + day * kDay) || rebased;
    usage.Charge(kNow + day * kDay, ana, 100);
    usage.Settle(kNow + day * kDay, ana, 100, 100);
  }
  EXPECT_TRUE(rebased);
  EXPECT_NEAR(usage.Seconds(kNow + 2999 * kDay, ana), 200, 0.1);
}

TEST(Usage, WhoUsesNothingAnyMoreIsForgotten) {
  Usage usage(kDay);
  usage.Rebase(kNow);
  usage.Add(kNow, usage.Of("ana"), 100);
  usage.Add(kNow, usage.Of("bob"), 100);
  usage.Of("bob").jobs = 1;
  EXPECT_TRUE(usage.Prune(kNow + kDay).empty());
  EXPECT_EQ(usage.Prune(kNow + 30 * kDay), std::vector<std::string>{"ana"});
  EXPECT_EQ(usage.owners().size(), 1u);
}

}  // namespace
}  // namespace kbench::scheduler
