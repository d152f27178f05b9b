#include "worker/engine/burst.h"

#include <algorithm>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/worker/engine/fake_timeline.h"

namespace kbench::engine {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// What the launch callback does; notes itself among the timeline's calls.
struct Kernel {
  FakeTimeline* timeline;
  int fail_at = -1;  // the launch, counted from 0, that returns an error
  double host_seconds = 0;
  int launches = 0;
  bool held_always = true;
};

int Launch(void* user, void*) {
  auto* kernel = static_cast<Kernel*>(user);
  kernel->timeline->calls.push_back("launch");
  kernel->timeline->clock += kernel->host_seconds;
  kernel->held_always = kernel->held_always && kernel->timeline->held;
  return kernel->launches++ == kernel->fail_at ? 7 : 0;
}

class BurstTest : public ::testing::Test {
 protected:
  EngineError Run(BurstSpec spec) { return runner_.Run(spec, {Launch, &kernel_, nullptr}, &out_); }
  int Count(const std::string& call) const {
    return static_cast<int>(std::count(timeline_.calls.begin(), timeline_.calls.end(), call));
  }
  void SetUp() override { runner_.SetPace(1e-3); }

  FakeTimeline timeline_;
  Kernel kernel_{&timeline_};
  BurstRunner runner_{timeline_};
  BurstOutcome out_;
};

TEST_F(BurstTest, QueuesEverythingBehindOneBlockerInOrder) {
  ASSERT_FALSE(Run({2, 0, FlushKind::kClean}));
  EXPECT_THAT(timeline_.calls,
              ElementsAre("begin", "block", "clean", "start0", "launch", "stop0", "clean", "start1",
                          "launch", "stop1", "release", "sync", "end"));
  EXPECT_THAT(out_.device_seconds, ElementsAre(1e-3, 1e-3));
  EXPECT_TRUE(kernel_.held_always);
  EXPECT_EQ(out_.flags, 0u);
  EXPECT_GT(out_.seconds, 0);
}

TEST_F(BurstTest, LaunchesOfNothingShiftTheDriversSlots) {
  timeline_.facts.samples_per_block = 1;
  BurstRunner runner(timeline_);
  runner.SetPace(1e-3);
  const auto after = [&](int samples) {
    EXPECT_FALSE(runner.Run({samples, 0, FlushKind::kClean}, {Launch, &kernel_, nullptr}, &out_));
    return timeline_.nothings;
  };
  EXPECT_EQ(after(3), 0);
  EXPECT_EQ(after(3), 1) << "counted on from burst to burst";
  EXPECT_EQ(after(16), 5);
  timeline_.facts.has_queue = false;
  BurstRunner plain(timeline_);
  ASSERT_FALSE(plain.Run({16, 0, FlushKind::kClean}, {Launch, &kernel_, nullptr}, &out_));
  EXPECT_EQ(timeline_.nothings, 5);
}

TEST_F(BurstTest, TheOutputIsPoisonedBeforeTheLastLaunchOfABurst) {
  FakeGate gate(timeline_);
  ASSERT_FALSE(Run({2, 0, FlushKind::kClean, &gate}));
  EXPECT_THAT(timeline_.calls,
              ElementsAre("begin", "block", "clean", "start0", "launch", "stop0", "poison", "clean",
                          "start1", "launch", "stop1", "note", "release", "sync", "look", "end"));
  EXPECT_FALSE(out_.changed_late);
  ASSERT_FALSE(Run({20, 0, FlushKind::kClean, &gate}));
  EXPECT_EQ(Count("poison"), 1 + 1) << "only in the last of three blocks";
  EXPECT_EQ(Count("look"), 1 + 1);
}

TEST_F(BurstTest, AnOutputThatChangesAfterTheStreamIsASideStream) {
  FakeGate gate(timeline_);
  gate.changed = true;
  ASSERT_FALSE(Run({2, 0, FlushKind::kClean, &gate}));
  EXPECT_TRUE(out_.changed_late);
  EXPECT_EQ(out_.flags, KB_FLAG_SIDE_STREAM);
  EXPECT_THAT(out_.device_seconds, SizeIs(2));
}

TEST_F(BurstTest, EveryOtherPoisonedBurstIsHeldForASample) {
  FakeGate gate(timeline_);
  runner_.SetPace(2e-3);
  ASSERT_FALSE(Run({1, 0, FlushKind::kClean, &gate}));
  EXPECT_EQ(Count("hold"), 0);
  runner_.SetPace(2e-3);
  timeline_.calls.clear();
  const double before = timeline_.clock;
  ASSERT_FALSE(Run({1, 0, FlushKind::kClean, &gate}));
  EXPECT_THAT(timeline_.calls,
              ElementsAre("begin", "block", "poison", "clean", "start0", "launch", "stop0", "note",
                          "hold", "release", "sync", "look", "end"));
  EXPECT_GT(timeline_.clock - before, 2e-3);
  // What it held is not the pace of a sample: the next hold is as short as the launch is.
  ASSERT_FALSE(Run({1, 0, FlushKind::kClean, &gate}));
  EXPECT_EQ(Count("hold"), 1);
  const double third = timeline_.clock;
  ASSERT_FALSE(Run({1, 0, FlushKind::kClean, &gate}));
  EXPECT_EQ(Count("hold"), 2);
  EXPECT_LT(timeline_.clock - third, 1e-3);
}

TEST_F(BurstTest, AnOutputThatTheQueueDidNotWriteIsTold) {
  FakeGate gate(timeline_);
  gate.unwritten = true;
  ASSERT_FALSE(Run({2, 0, FlushKind::kClean, &gate}));
  EXPECT_TRUE(out_.unwritten);
  EXPECT_FALSE(out_.changed_late);
  gate.unwritten = false;
  ASSERT_FALSE(Run({2, 0, FlushKind::kClean, &gate}));
  EXPECT_FALSE(out_.unwritten);
}

TEST_F(BurstTest, TheGapThatHoldsThePoisonIsNotJudged) {
  FakeGate gate(timeline_);
  timeline_.gaps = {100e-6, 100e-6, 100e-6, 100e-6, 900e-6};
  ASSERT_FALSE(Run({6, 0, FlushKind::kClean, &gate}));
  EXPECT_THAT(out_.device_seconds, SizeIs(6));
  EXPECT_EQ(out_.flags, 0u);
}

TEST_F(BurstTest, ABurstThatItsTimeEndsIsPoisonedToo) {
  FakeGate gate(timeline_);
  timeline_.facts.samples_per_block = 1;
  BurstRunner one(timeline_);
  one.SetPace(1e-3);
  kernel_.host_seconds = 1e-3;  // what the clock moves on a launch
  ASSERT_FALSE(one.Run({100, 10e-3, FlushKind::kClean, &gate}, {Launch, &kernel_, nullptr}, &out_));
  EXPECT_LT(out_.device_seconds.size(), 20u);
  const auto poison = std::find(timeline_.calls.rbegin(), timeline_.calls.rend(), "poison");
  const auto launch = std::find(timeline_.calls.rbegin(), timeline_.calls.rend(), "launch");
  EXPECT_LT(poison - timeline_.calls.rbegin(), launch - timeline_.calls.rbegin() + 4);
}

TEST_F(BurstTest, OneSampleABlockWhereTheTimelineAsksForIt) {
  timeline_.facts.samples_per_block = 1;
  BurstRunner one(timeline_);
  one.SetPace(1e-3);
  ASSERT_FALSE(one.Run({3, 0, FlushKind::kClean}, {Launch, &kernel_, nullptr}, &out_));
  EXPECT_EQ(Count("block"), 3);
  EXPECT_EQ(Count("sync"), 3);
  EXPECT_THAT(out_.device_seconds, SizeIs(3));
  EXPECT_EQ(out_.flags, 0u);
}

TEST_F(BurstTest, AWarmLaunchComesFirstAndIsNotTimed) {
  BurstSpec spec{1, 0, FlushKind::kNone};
  spec.warm_launch = true;
  ASSERT_FALSE(Run(spec));
  EXPECT_THAT(timeline_.calls, ElementsAre("begin", "launch", "sync", "block", "none", "start0",
                                           "launch", "stop0", "release", "sync", "end"));
  EXPECT_THAT(out_.device_seconds, SizeIs(1));
  runner_.SetPace(0.1);  // a launch this long warms itself
  kernel_.launches = 0;
  ASSERT_FALSE(Run(spec));
  EXPECT_EQ(kernel_.launches, 1);
  runner_.SetPace(1e-3);
  kernel_.launches = kernel_.fail_at = 0;
  EXPECT_EQ(Run(spec).code, KB_LAUNCH_FAILED);
}

TEST_F(BurstTest, BusyTimeHoldsDiscardedSamplesToo) {
  timeline_.gaps = {100e-6, 100e-6, 130e-6, 100e-6, 119e-6};
  timeline_.odd_samples = {1e-3, 2e-3, 3e-3, 4e-3, 5e-3, 6e-3};
  ASSERT_FALSE(Run({6, 0, FlushKind::kClean}));
  EXPECT_EQ(out_.discarded, 1);
  EXPECT_NEAR(out_.busy_seconds, 21e-3, 1e-12);
}

TEST_F(BurstTest, TheClockOfTheCoresIsPassedOn) {
  timeline_.core_hertz = 1.75e9;
  ASSERT_FALSE(Run({20, 0, FlushKind::kClean}));  // more than one block
  EXPECT_NEAR(out_.clock_hertz, 1.75e9, 1);
  timeline_.core_hertz = 0;
  ASSERT_FALSE(Run({2, 0, FlushKind::kClean}));
  EXPECT_EQ(out_.clock_hertz, 0);
}

TEST_F(BurstTest, DirtyAndNoneAreAskedOfTheTimeline) {
  ASSERT_FALSE(Run({1, 0, FlushKind::kDirty}));
  ASSERT_FALSE(Run({1, 0, FlushKind::kNone}));
  EXPECT_EQ(Count("dirty"), 1);
  EXPECT_EQ(Count("none"), 1);
}

TEST_F(BurstTest, SubmitTimeIsTheLaunchAloneWhileBlocked) {
  kernel_.host_seconds = 4e-6;
  ASSERT_FALSE(Run({3, 0, FlushKind::kClean}));
  ASSERT_THAT(out_.submit_seconds, SizeIs(3));
  for (const double seconds : out_.submit_seconds) EXPECT_NEAR(seconds, 5e-6, 1e-9);  // one tick
}

TEST_F(BurstTest, WithoutAQueueThereAreNoSubmitTimesAndNoGapAudit) {
  timeline_.facts.has_queue = false;
  timeline_.gaps = {1e-4, 1e-4, 1e-4, 1.0};
  BurstRunner runner(timeline_);
  runner.SetPace(1e-3);
  ASSERT_FALSE(runner.Run({6, 0, FlushKind::kClean}, {Launch, &kernel_, nullptr}, &out_));
  EXPECT_THAT(out_.device_seconds, SizeIs(6));
  EXPECT_THAT(out_.submit_seconds, SizeIs(0));
  EXPECT_EQ(out_.flags, 0u);
}

TEST_F(BurstTest, SplitsAtTheDepthOfTheQueue) {
  ASSERT_FALSE(Run({20, 0, FlushKind::kClean}));
  EXPECT_EQ(Count("block"), 3);  // 8 + 8 + 4
  EXPECT_EQ(Count("begin"), 1);
  EXPECT_THAT(out_.device_seconds, SizeIs(20));
}

TEST_F(BurstTest, SplitsAtTwoHundredMillisecondsOfWork) {
  runner_.SetPace(0.1);
  ASSERT_FALSE(Run({3, 0, FlushKind::kClean}));
  EXPECT_EQ(timeline_.calls[1], "block");
  EXPECT_EQ(
      std::count(timeline_.calls.begin() + 1,
                 std::find(timeline_.calls.begin(), timeline_.calls.end(), "release"), "launch"),
      2);
}

TEST_F(BurstTest, StopsEarlyWhenTheTimeIsOverButNeverWithoutASample) {
  timeline_.tick = 1e-3;
  ASSERT_FALSE(Run({1000, 1e-6, FlushKind::kClean}));
  EXPECT_THAT(out_.device_seconds, SizeIs(1));
}

TEST_F(BurstTest, ALongGapCostsTheNextSampleAndIsFlagged) {
  timeline_.gaps = {100e-6, 100e-6, 130e-6, 100e-6, 119e-6};
  timeline_.odd_samples = {1e-3, 2e-3, 3e-3, 4e-3, 5e-3, 6e-3};
  ASSERT_FALSE(Run({6, 0, FlushKind::kClean}));
  EXPECT_THAT(out_.device_seconds, ElementsAre(1e-3, 2e-3, 3e-3, 5e-3, 6e-3));
  EXPECT_THAT(out_.submit_seconds, SizeIs(5));
  EXPECT_EQ(out_.discarded, 1);
  EXPECT_EQ(out_.flags, KB_FLAG_HOST_STALL);
}

TEST_F(BurstTest, ShortGapsMayVaryByTheFloor) {
  timeline_.usual_gap = 1e-6;
  timeline_.gaps = {1e-6, 5e-6, 1e-6, 8e-6};  // 4 us more is jitter, 7 us more is a stall
  ASSERT_FALSE(Run({6, 0, FlushKind::kNone}));
  EXPECT_EQ(out_.discarded, 1);
}

TEST_F(BurstTest, TheFlushTimeIsRememberedAcrossBursts) {
  ASSERT_FALSE(Run({8, 0, FlushKind::kClean}));
  timeline_.gaps = {300e-6};
  ASSERT_FALSE(Run({2, 0, FlushKind::kClean}));  // one gap alone could not be judged
  EXPECT_EQ(out_.discarded, 1);
  ASSERT_FALSE(Run({2, 0, FlushKind::kDirty}));  // another flush has another time
  EXPECT_EQ(out_.discarded, 0);
}

TEST_F(BurstTest, TimesThatAreNoTimesAreDiscarded) {
  timeline_.odd_samples = {std::numeric_limits<double>::quiet_NaN(), 0, -1,
                           std::numeric_limits<double>::infinity(), 2e-3};
  ASSERT_FALSE(Run({5, 0, FlushKind::kClean}));
  EXPECT_THAT(out_.device_seconds, ElementsAre(2e-3));
  EXPECT_EQ(out_.discarded, 4);
}

TEST_F(BurstTest, ABlockerThatRanOutHalvesTheBlock) {
  timeline_.time_out_above = 5;  // four samples fit
  ASSERT_FALSE(Run({8, 0, FlushKind::kClean}));
  EXPECT_THAT(out_.device_seconds, SizeIs(8));
  EXPECT_EQ(Count("block"), 3);  // 8 (given up at 5), 4, 4
  EXPECT_EQ(out_.flags, KB_FLAG_BLOCKER_TIMEOUT);
  timeline_.calls.clear();
  ASSERT_FALSE(Run({8, 0, FlushKind::kClean}));  // the next burst has learnt it
  EXPECT_EQ(Count("block"), 2);
  EXPECT_EQ(out_.flags, 0u);
}

TEST_F(BurstTest, ABlockerThatRunsOutAtOneSampleIsATimeout) {
  timeline_.time_out_above = 1;
  const EngineError error = Run({8, 0, FlushKind::kClean});
  EXPECT_EQ(error.code, KB_TIMEOUT);
  EXPECT_THAT(error.message, HasSubstr("waits for the device"));
  EXPECT_EQ(Count("block"), 2);  // nothing fitted in the first, so the second tries one
  EXPECT_EQ(Count("release"), 2);
  EXPECT_FALSE(timeline_.held);
}

TEST_F(BurstTest, ALaunchThatFailsEndsTheBurstWithTheQueueReleased) {
  kernel_.fail_at = 1;
  const EngineError error = Run({4, 0, FlushKind::kClean});
  EXPECT_EQ(error.code, KB_LAUNCH_FAILED);
  EXPECT_THAT(error.message, HasSubstr("error 7"));
  EXPECT_EQ(kernel_.launches, 2);
  EXPECT_FALSE(timeline_.held);
  EXPECT_EQ(timeline_.calls.rbegin()[1], "sync");
}

TEST_F(BurstTest, AFlushThatFailsEndsTheBurstWithTheQueueReleased) {
  timeline_.flush_error = {KB_IO_ERROR, "no flush"};
  EXPECT_EQ(Run({4, 0, FlushKind::kClean}).code, KB_IO_ERROR);
  EXPECT_EQ(kernel_.launches, 0);
  EXPECT_FALSE(timeline_.held);
}

TEST_F(BurstTest, AFaultOfTheDeviceOutweighsTheLaunchsError) {
  kernel_.fail_at = 0;
  timeline_.synchronize_error = {KB_DEVICE_ERROR, "illegal address"};
  EXPECT_EQ(Run({4, 0, FlushKind::kClean}).code, KB_DEVICE_ERROR);
  EXPECT_FALSE(timeline_.held);
}

TEST_F(BurstTest, NoSamplesAreRefused) {
  EXPECT_EQ(Run({0, 0, FlushKind::kClean}).code, KB_INVALID_ARGUMENT);
  EXPECT_THAT(timeline_.calls, SizeIs(0));
}

}  // namespace
}  // namespace kbench::engine
