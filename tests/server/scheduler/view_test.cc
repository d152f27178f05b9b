// What people are told of the queue.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/scheduler/lab.h"

namespace kbench::scheduler {
namespace {

using enum PriorityClass;

class ViewTest : public ::testing::Test {
 protected:
  Explained Explain(const std::string& job, int most = 20) {
    return lab_.scheduler().Explain(lab_.now(), job, most);
  }
  Lab lab_{1};
};

TEST_F(ViewTest, AnEmptyQueueIsAllZero) {
  const QueueView view = lab_.scheduler().View(lab_.now(), 50);
  ASSERT_EQ(view.devices.size(), 1u);
  EXPECT_FALSE(view.devices[0].running);
  EXPECT_TRUE(view.waiting.empty());
  EXPECT_TRUE(view.owners.empty());
  EXPECT_EQ(Explain("jobs/none").rule, Rule::kNone);
  EXPECT_EQ(lab_.scheduler().PlaceOf(lab_.now(), "jobs/none").position, 0);
}

TEST_F(ViewTest, DevicesOwnersAndTotals) {
  lab_.Submit({.owner = "ana", .cases = 3, .estimate = 30});
  lab_.Submit({.owner = "bob", .cases = 2, .estimate = 10});
  lab_.RunUntil(lab_.now() + 5);
  const QueueView view = lab_.scheduler().View(lab_.now(), 1);
  EXPECT_EQ(view.waiting_jobs, 2);
  EXPECT_EQ(view.waiting_cases, 4);
  ASSERT_EQ(view.waiting.size(), 1u) << "at most as many as asked for";
  EXPECT_EQ(view.waiting[0].owner, "bob");
  EXPECT_EQ(view.waiting[0].position, 1);
  EXPECT_EQ(view.waiting[0].estimated_seconds, 20);
  const DeviceView& device = view.devices.at(0);
  ASSERT_TRUE(device.running);
  EXPECT_EQ(device.running->job, "jobs/0");
  EXPECT_EQ(device.waiting_jobs, 2);
  EXPECT_NEAR(device.yields.earliest - lab_.now(), 30 * 0.8 - 5, 1e-6);
  EXPECT_NEAR(device.yields.latest - lab_.now(), 30 * 1.2 - 5, 1e-6);
  ASSERT_EQ(view.owners.size(), 2u);
  EXPECT_EQ(view.owners[0].owner, "bob") << "the least served first";
  EXPECT_NEAR(view.owners[1].used_seconds, 30, 0.01);
  EXPECT_EQ(view.owners[1].running_cases, 1);
}

TEST_F(ViewTest, RunningNextAndBusy) {
  const std::string running = lab_.Submit({.owner = "ana"});
  EXPECT_EQ(Explain(running).rule, Rule::kRunning);
  EXPECT_EQ(Explain(running).device, "gpu0");
  const std::string waiting = lab_.Submit({.owner = "bob"});
  EXPECT_EQ(Explain(waiting).rule, Rule::kDeviceBusy);
  EXPECT_EQ(Explain(waiting).position, 1);
  EXPECT_TRUE(Explain(waiting).ahead.empty());
  EXPECT_NEAR(Explain(waiting).start.latest, lab_.now() + 12, 1e-6);
}

TEST_F(ViewTest, ALentDeviceIsSaidToBeHeld) {
  lab_.Submit({.owner = "ana", .estimate = 600, .hold = true});
  EXPECT_EQ(Explain(lab_.Submit({.owner = "bob"})).rule, Rule::kHeld);
}

TEST_F(ViewTest, EveryRuleHasItsName) {
  lab_.Submit({.owner = "ana", .estimate = 100});
  const std::string batch = lab_.Submit({.owner = "bob", .priority_class = kBatch});
  const std::string quick = lab_.Submit({.owner = "eve"});
  Explained explained = Explain(batch);
  EXPECT_EQ(explained.rule, Rule::kClass);
  ASSERT_EQ(explained.ahead.size(), 1u);
  EXPECT_EQ(explained.ahead[0].job, quick);
  EXPECT_EQ(explained.ahead[0].rule, Rule::kClass);
  EXPECT_EQ(explained.ahead[0].owner, "eve");
  const std::string again = lab_.Submit({.owner = "ana"});
  EXPECT_EQ(Explain(again).rule, Rule::kOwnerUsage) << "eve has used less than ana";
  const std::string longer = lab_.Submit({.owner = "eve", .estimate = 50});
  EXPECT_EQ(Explain(longer).rule, Rule::kOwnOrder);
  EXPECT_EQ(Explain(longer).ahead_jobs, 1);
}

TEST_F(ViewTest, APromotedOneIsSaidToBe) {
  lab_.Submit({.owner = "eve", .priority_class = kCi, .estimate = 20'000});
  lab_.RunUntil(lab_.now() + 20'001);
  const std::string old = lab_.Submit({.owner = "ana", .priority_class = kCi, .estimate = 2500});
  const std::string waits = lab_.Submit({.owner = "eve", .priority_class = kCi});
  lab_.RunUntil(lab_.now() + 2000);
  const std::string fresh = lab_.Submit({.owner = "dan", .priority_class = kCi});
  EXPECT_EQ(Explain(old).rule, Rule::kRunning);
  EXPECT_EQ(Explain(fresh).rule, Rule::kPromoted) << "eve used much, but has waited for the bound";
  EXPECT_TRUE(lab_.scheduler().PlaceOf(lab_.now(), waits).promoted);
  EXPECT_FALSE(lab_.scheduler().PlaceOf(lab_.now(), fresh).promoted);
  EXPECT_LT(Explain(waits).promoted_at, lab_.now());
  EXPECT_GT(Explain(fresh).promoted_at, lab_.now());
}

TEST_F(ViewTest, TheNearestAreNamedFirstAndTheRestCounted) {
  lab_.Submit({.owner = "ana"});
  std::vector<std::string> jobs;
  for (int i = 0; i < 100; ++i) {
    jobs.push_back(lab_.Submit({.owner = i % 2 == 0 ? "bob" : "eve"}));
  }
  const Explained explained = Explain(jobs.back(), 20);
  ASSERT_EQ(explained.ahead.size(), 20u);
  EXPECT_EQ(explained.ahead_jobs, 99);
  EXPECT_EQ(explained.ahead[0].job, jobs[98]);
  EXPECT_EQ(explained.ahead[1].job, jobs[97]);
  EXPECT_EQ(explained.position, 100);
}

TEST_F(ViewTest, SeveralDevicesShareTheWorkAhead) {
  Lab two(2);
  for (int i = 0; i < 12; ++i) two.Submit({.owner = "ana", .estimate = 100});
  const std::string job = two.Submit({.owner = "ana", .estimate = 100});
  const Place place = two.scheduler().PlaceOf(two.now(), job);
  EXPECT_EQ(place.position, 12);
  const double expected = two.now() + 600;  // two run, ten wait, two at a time
  EXPECT_LE(place.start.earliest, expected);
  EXPECT_GE(place.start.latest, expected);
  EXPECT_LT(place.start.latest - place.start.earliest, 300);
  EXPECT_EQ(place.estimated_seconds, 100);
}

}  // namespace
}  // namespace kbench::scheduler
