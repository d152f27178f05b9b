// Holds in the scheduler: they take a device as a case does, end well, and are never tried again
// once somebody may be using the device.
#include "tests/server/scheduler/scheduler_fixture.h"

namespace kbench::scheduler {
namespace {

class HoldsTest : public SchedulerTest {
 protected:
  // A hold that its worker has named.
  AssignTo Begin(const std::string& name) {
    world_.AddHold(name, "cpu");
    const AssignTo assign = OneAssign();
    world_.Beat(cpu_, {HeldOf(assign)});
    return assign;
  }
  void End(const std::string& name) {
    world_.Apply(world_.scheduler().EndHold(world_.now(), name, "HOLD_ENDED", "held for 5s"));
  }
};

TEST_F(HoldsTest, TheDeviceIsFreeWhenTheWorkerNoLongerNamesIt) {
  world_.Hello(cpu_);
  const AssignTo hold = Begin("jobs/h");
  world_.Add("jobs/a", 1, "cpu");
  EXPECT_TRUE(world_.scheduler().HoldIsRunning("jobs/h"));
  End("jobs/h");
  EXPECT_EQ(world_.Job("jobs/h").state, State::kSucceeded);
  EXPECT_EQ(world_.Job("jobs/h").reason, "HOLD_ENDED");
  EXPECT_EQ(world_.Job("jobs/h").message, "held for 5s");
  const std::vector<CancelOn> cancels = world_.TakeCancels();
  ASSERT_EQ(cancels.size(), 1u);
  EXPECT_TRUE(cancels[0].finished);
  EXPECT_EQ(cancels[0].epoch, hold.epoch);
  EXPECT_TRUE(world_.TakeAssigns().empty()) << "the worker may still have somebody on the device";
  world_.Beat(cpu_, {HeldOf(hold)});
  EXPECT_TRUE(world_.TakeAssigns().empty());
  EXPECT_EQ(world_.TakeCancels().size(), 1u) << "what it still names it is told to end";
  world_.Beat(cpu_);
  EXPECT_EQ(OneAssign().ref.job, "jobs/a");
}

TEST_F(HoldsTest, EndingTwiceOrSomethingElseChangesNothing) {
  world_.Hello(cpu_);
  Begin("jobs/h");
  world_.Add("jobs/a", 1, "cpu");
  End("jobs/a");
  EXPECT_EQ(world_.Job("jobs/a").state, State::kQueued);
  End("jobs/h");
  world_.TakeCancels();
  End("jobs/h");
  End("jobs/nobody");
  EXPECT_TRUE(world_.TakeCancels().empty());
  world_.Beat(cpu_);
  EXPECT_EQ(OneAssign().ref.job, "jobs/a");
  world_.AddHold("jobs/waiting", "cpu");
  End("jobs/waiting");
  EXPECT_EQ(world_.Job("jobs/waiting").state, State::kQueued) << "a hold that waits is cancelled";
}

TEST_F(HoldsTest, TheWorkersEndIsTheJobs) {
  world_.Hello(cpu_);
  const AssignTo hold = Begin("jobs/h");
  const ResultAnswer answer = world_.scheduler().WorkerResult(
      world_.now(), "w-cpu", HeldOf(hold), {Kind::kResult, "its time was over", "HOLD_ENDED"});
  world_.Apply(answer.effects);
  EXPECT_TRUE(answer.accepted);
  EXPECT_EQ(world_.Job("jobs/h").state, State::kSucceeded);
  EXPECT_EQ(world_.Job("jobs/h").message, "its time was over");
}

TEST_F(HoldsTest, WhatHasBegunIsNeverTriedAgain) {
  world_.Hello(cpu_);
  Begin("jobs/expired");
  world_.Pass(100);
  EXPECT_EQ(world_.Job("jobs/expired").state, State::kFailed);
  EXPECT_EQ(world_.Job("jobs/expired").reason, "INFRA");
  EXPECT_THAT(world_.Job("jobs/expired").message, ::testing::HasSubstr("stopped answering"));

  world_.Hello(cpu_);
  Begin("jobs/died");
  cpu_.boot_id = "boot2";
  world_.Hello(cpu_);
  EXPECT_EQ(world_.Job("jobs/died").state, State::kFailed);
  EXPECT_THAT(world_.Job("jobs/died").message, ::testing::HasSubstr("died"));

  const AssignTo given_back = Begin("jobs/back");
  EXPECT_TRUE(world_.Result("w-cpu", HeldOf(given_back), Kind::kInfra));
  EXPECT_EQ(world_.Job("jobs/back").state, State::kFailed);
}

TEST_F(HoldsTest, WhatHasNotBegunKeepsItsTurn) {
  world_.Hello(cpu_);
  world_.AddHold("jobs/h", "cpu");
  const AssignTo first = OneAssign();
  EXPECT_TRUE(world_.Result("w-cpu", HeldOf(first), Kind::kInfra));
  EXPECT_EQ(world_.Job("jobs/h").state, State::kQueued);
  world_.Beat(cpu_);
  EXPECT_EQ(OneAssign().ref.job, "jobs/h");
}

TEST_F(HoldsTest, SurvivesARestartAndABrokenStream) {
  world_.Hello(cpu_);
  const AssignTo hold = Begin("jobs/h");
  world_.Restart();
  EXPECT_TRUE(world_.scheduler().HoldIsRunning("jobs/h"));
  const HelloAnswer answer = world_.Hello(cpu_, {HeldOf(hold)});
  ASSERT_EQ(answer.held.size(), 1u);
  EXPECT_EQ(answer.held[0].second, HeldAction::kKeep);
  EXPECT_EQ(world_.Job("jobs/h").state, State::kRunning);
  End("jobs/h");
  world_.Restart();
  const HelloAnswer after = world_.Hello(cpu_, {HeldOf(hold)});
  ASSERT_EQ(after.held.size(), 1u);
  EXPECT_EQ(after.held[0].second, HeldAction::kKill) << "a lost word of the end heals";
}

TEST_F(HoldsTest, AfterARestartTheWorkersDeathEndsIt) {
  world_.Hello(cpu_);
  Begin("jobs/h");
  world_.Restart();
  cpu_.boot_id = "boot2";
  world_.Hello(cpu_);
  EXPECT_EQ(world_.Job("jobs/h").state, State::kFailed);
}

TEST_F(HoldsTest, Cancelled) {
  world_.Hello(cpu_);
  const AssignTo hold = Begin("jobs/h");
  world_.Apply(world_.scheduler().CancelJob(world_.now(), "jobs/h"));
  const std::vector<CancelOn> cancels = world_.TakeCancels();
  ASSERT_EQ(cancels.size(), 1u);
  EXPECT_FALSE(cancels[0].finished);
  EXPECT_TRUE(world_.Result("w-cpu", HeldOf(hold), Kind::kCancelled));
  EXPECT_EQ(world_.Job("jobs/h").state, State::kCancelled);
}

}  // namespace
}  // namespace kbench::scheduler
