// The rules of who runs next, one by one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/server/scheduler/lab.h"

namespace kbench::scheduler {
namespace {

using ::testing::ElementsAre;
using enum PriorityClass;

// The owners of what ran, in order.
std::vector<std::string> Owners(const Lab& lab) {
  std::vector<std::string> owners;
  for (const Ran& one : lab.ran()) owners.push_back(one.owner);
  return owners;
}

std::vector<std::string> Jobs(const Lab& lab) {
  std::vector<std::string> jobs;
  for (const Ran& one : lab.ran()) jobs.push_back(one.job);
  return jobs;
}

class PolicyTest : public ::testing::Test {
 protected:
  // The device is taken until everything of the test has been submitted.
  void SetUp() override { lab_.Submit({.owner = "first", .priority_class = kBatch}); }
  void TearDown() override { EXPECT_EQ(lab_.world().Check(), ""); }
  Lab lab_{1};
};

TEST_F(PolicyTest, InteractiveBeforeCiBeforeBatch) {
  lab_.Submit({.owner = "batch", .priority_class = kBatch});
  lab_.Submit({.owner = "ci", .priority_class = kCi});
  lab_.Submit({.owner = "me", .priority_class = kInteractive});
  lab_.RunAll();
  EXPECT_THAT(Owners(lab_), ElementsAre("first", "me", "ci", "batch"));
}

TEST_F(PolicyTest, WithinAClassTheOwnerWhoUsedLeast) {
  lab_.Submit({.owner = "ana", .cases = 3});
  lab_.Submit({.owner = "bob", .cases = 2});
  lab_.RunAll();
  EXPECT_THAT(Owners(lab_), ElementsAre("first", "ana", "bob", "ana", "bob", "ana"))
      << "a sweep yields after every case";
}

TEST_F(PolicyTest, APriorityPutsNobodyBeforeAnotherOwner) {
  lab_.Submit({.owner = "ana", .cases = 2, .priority = 0});
  lab_.Submit({.owner = "bob", .cases = 2, .priority = 1000});
  lab_.RunAll();
  EXPECT_THAT(Owners(lab_), ElementsAre("first", "ana", "bob", "ana", "bob"));
}

TEST_F(PolicyTest, ALongCaseIsPaidForByOthersShortOnes) {
  lab_.Submit({.owner = "ana", .cases = 2, .estimate = 60});
  lab_.Submit({.owner = "bob", .cases = 7, .estimate = 10});
  lab_.RunAll();
  EXPECT_THAT(Owners(lab_),
              ElementsAre("first", "ana", "bob", "bob", "bob", "bob", "bob", "bob", "ana", "bob"));
}

TEST_F(PolicyTest, WhatACaseReallyTookCorrectsTheCharge) {
  lab_.Submit({.owner = "ana", .cases = 2, .estimate = 60, .seconds = 10});
  lab_.Submit({.owner = "bob", .cases = 4, .estimate = 10});
  lab_.RunAll();
  // Ana is charged 60 s when her case begins, and 10 s once it has ended.
  EXPECT_THAT(Owners(lab_), ElementsAre("first", "ana", "bob", "ana", "bob", "bob", "bob"));
  EXPECT_NEAR(lab_.scheduler().UsedSeconds(lab_.now(), "ana"), 20, 0.1);
}

TEST_F(PolicyTest, TheShorterOfOneOwnerFirst) {
  const std::string sweep = lab_.Submit({.cases = 3, .estimate = 30});
  const std::string one = lab_.Submit({.estimate = 30});
  const std::string quick = lab_.Submit({.estimate = 5});
  lab_.RunAll();
  EXPECT_THAT(Jobs(lab_), ElementsAre("jobs/0", quick, one, sweep, sweep, sweep));
}

TEST_F(PolicyTest, ALongJobIsOvertakenOnlyByWhatCameWithinTheBoundAfterIt) {
  const std::string sweep = lab_.Submit({.cases = 100, .estimate = 50});
  // A short job comes every 9 s and takes 10 s: the device never runs out of them.
  for (double t = 0; t < 2 * 3600; t += 9) {
    lab_.At(lab_.now() + t, [this] { lab_.Submit({.estimate = 10}); });
  }
  lab_.RunUntil(lab_.now() + 2 * 3600);
  const auto& ran = lab_.ran();
  const auto first =
      std::find_if(ran.begin(), ran.end(), [&](const Ran& one) { return one.job == sweep; });
  ASSERT_NE(first, ran.end());
  // What came within half an hour takes a tenth longer than that to run.
  EXPECT_LT(first->started - lab_.SubmittedAt(sweep), 1800 * 10 / 9.0 + 60);
}

TEST_F(PolicyTest, ALongSweepHoldsUpItsOwnersLaterJobForNoLongerThanTheBound) {
  lab_.Submit({.cases = 600, .estimate = 30});
  lab_.RunUntil(lab_.now() + 3600);
  const std::string later = lab_.Submit({.estimate = 30});
  const double came = lab_.now();
  lab_.RunUntil(lab_.now() + 3600);
  const auto& ran = lab_.ran();
  const auto found =
      std::find_if(ran.begin(), ran.end(), [&](const Ran& one) { return one.job == later; });
  ASSERT_NE(found, ran.end());
  EXPECT_LE(found->started - came, 1800 + 30);
}

TEST_F(PolicyTest, AnOldBatchJobActsAsOneClassUpEveryTenMinutes) {
  lab_.Submit({.owner = "eve", .priority_class = kBatch});
  // A flood of ci, twice what the device can do, each from somebody who has used nothing before.
  for (int i = 0; i < 400; ++i) {
    lab_.At(lab_.now() + 5 * i, [this, i] {
      lab_.Submit({.owner = "robot" + std::to_string(i), .priority_class = kCi});
    });
  }
  lab_.RunAll();
  const std::vector<std::string> owners = Owners(lab_);
  const auto at = std::find(owners.begin(), owners.end(), "eve") - owners.begin();
  EXPECT_GE(at, 60) << "for ten minutes the higher class goes first";
  EXPECT_LE(at, 62) << "then usage decides, and eve was there first";
}

TEST_F(PolicyTest, WhoHasWaitedForTheBoundGoesBeforeAllWhoHaveNotTheLongestFirst) {
  // Eve and dan have used the device a lot, so that their usage puts them last.
  for (const char* owner : {"eve", "dan"}) lab_.Submit({.owner = owner, .estimate = 5000});
  lab_.RunUntil(lab_.now() + 11'000);
  const double came = lab_.now();
  lab_.Submit({.owner = "ana", .cases = 1000});
  lab_.Submit({.owner = "dan", .cases = 2});
  lab_.RunUntil(came + 15);
  lab_.Submit({.owner = "eve", .cases = 2});
  lab_.RunUntil(came + 4000);
  std::vector<std::pair<std::string, double>> others;
  for (const Ran& one : lab_.ran()) {
    if (one.started >= came && one.owner != "ana")
      others.push_back({one.owner, one.started - came});
  }
  ASSERT_EQ(others.size(), 4u) << "a case each half hour";
  EXPECT_EQ(others[0].first, "dan");
  EXPECT_NEAR(others[0].second, 1800, 10);
  EXPECT_EQ(others[1].first, "eve");
  EXPECT_NEAR(others[1].second, 1815, 10);
  EXPECT_EQ(others[2].first, "dan");
  EXPECT_NEAR(others[2].second, 3610, 20);
}

TEST_F(PolicyTest, AHoldIsQueuedAsACaseAndChargedAsLongAsItLasted) {
  lab_.Submit({.owner = "ana", .estimate = 1800, .seconds = 600, .hold = true});
  lab_.Submit({.owner = "bob", .estimate = 10});
  lab_.RunUntil(lab_.now() + 11);
  EXPECT_EQ(Owners(lab_).back(), "ana");
  EXPECT_NEAR(lab_.scheduler().UsedSeconds(lab_.now(), "ana"), 1800, 1) << "at its estimate";
  lab_.RunAll();
  EXPECT_NEAR(lab_.scheduler().UsedSeconds(lab_.now(), "ana"), 600, 5);
}

TEST_F(PolicyTest, UsageSurvivesARestartWithWhatRuns) {
  lab_.Submit({.owner = "ana", .cases = 3, .estimate = 100});
  lab_.Submit({.owner = "bob", .cases = 20, .estimate = 10});
  lab_.RunUntil(lab_.now() + 150);
  const double ana = lab_.scheduler().UsedSeconds(lab_.now(), "ana");
  const double bob = lab_.scheduler().UsedSeconds(lab_.now(), "bob");
  EXPECT_GT(ana, 50);
  EXPECT_GT(bob, 10);
  lab_.Restart();
  EXPECT_EQ(lab_.world().Check(), "");
  EXPECT_NEAR(lab_.scheduler().UsedSeconds(lab_.now(), "ana"), ana, 0.01);
  EXPECT_NEAR(lab_.scheduler().UsedSeconds(lab_.now(), "bob"), bob, 0.01);
  lab_.RunAll();
  EXPECT_NEAR(lab_.scheduler().UsedSeconds(lab_.now(), "ana"), 300, 3);
}

TEST_F(PolicyTest, ADeviceThatIsBlockedTakesNothingAndSaysWhy) {
  WorkerEntry worker = lab_.world().Worker("w9", "boot1", "gpu9", "cuda");
  worker.blocked = "QUARANTINED";
  lab_.world().Hello(worker);
  const std::string job = lab_.Submit({.device = "gpu9"});
  EXPECT_EQ(lab_.scheduler().WaitReason(lab_.now(), job), "QUARANTINED");
  EXPECT_EQ(lab_.scheduler().Explain(lab_.now(), job, 5).rule, Rule::kUnavailable);
  EXPECT_FALSE(lab_.scheduler().PlaceOf(lab_.now(), job).start.known);
  worker.blocked.clear();
  lab_.world().Hello(worker);
  EXPECT_EQ(lab_.world().TakeAssigns().size(), 1u);
}

}  // namespace
}  // namespace kbench::scheduler
