#include "worker/engine/steady_burst.h"

#include <algorithm>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/worker/engine/fake_timeline.h"

namespace kbench::engine {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

struct Kernel {
  int launches = 0;
  int fail_at = -1;
};

int Launch(void* user, void*) {
  auto* kernel = static_cast<Kernel*>(user);
  return kernel->launches++ == kernel->fail_at ? 3 : 0;
}

class SteadyBurstTest : public ::testing::Test {
 protected:
  EngineError Run(const BurstSpec& spec) {
    return steady_.Run(spec, {Launch, &kernel_, nullptr}, &out_);
  }
  int Count(const std::string& call) const {
    return static_cast<int>(std::count(timeline_.calls.begin(), timeline_.calls.end(), call));
  }

  FakeTimeline timeline_;  // every mark pair reads 1 ms
  Kernel kernel_;
  SteadyBurst steady_{timeline_};
  BurstOutcome out_;
};

TEST_F(SteadyBurstTest, OneBatchIsAlwaysQueuedBehindTheRunningOne) {
  ASSERT_FALSE(Run({3, 0, FlushKind::kNone}));
  EXPECT_EQ(steady_.launches(), 2);  // 2 ms of launches of 1 ms
  // Three pilots, then batch 0, which is not counted, and three samples.
  EXPECT_THAT(timeline_.calls,
              ElementsAre("begin", "start0", "stop0", "sync", "start0", "stop0", "sync", "start0",
                          "stop0", "sync", "start0", "stop0", "start1", "stop1", "wait0", "start2",
                          "stop2", "wait1", "start3", "stop3", "wait2", "wait3", "sync", "end"));
  EXPECT_EQ(kernel_.launches, 3 + 4 * 2);
  EXPECT_THAT(out_.device_seconds, ElementsAre(0.5e-3, 0.5e-3, 0.5e-3));
  EXPECT_THAT(out_.submit_seconds, SizeIs(0));
  EXPECT_NEAR(out_.busy_seconds, 3e-3, 1e-12);
  EXPECT_EQ(out_.flags, 0u);
}

TEST_F(SteadyBurstTest, SlotsOfMarksAreUsedAgain) {
  ASSERT_FALSE(Run({20, 0, FlushKind::kNone}));
  EXPECT_THAT(out_.device_seconds, SizeIs(20));
  EXPECT_EQ(Count("start7"), 2);  // eight slots: batches 7 and 15
  EXPECT_EQ(Count("start8"), 0);
}

TEST_F(SteadyBurstTest, AShortLaunchIsDoubledUntilItCanBeTold) {
  timeline_.sample_seconds = 0.4e-3;  // whatever the batch: under the pilot's length for ever
  ASSERT_FALSE(Run({1, 0, FlushKind::kNone}));
  EXPECT_EQ(steady_.launches(), 1 << 20);
}

TEST_F(SteadyBurstTest, ALongLaunchIsABatchOfOneAndNothingLeads) {
  timeline_.sample_seconds = 0.3;
  ASSERT_FALSE(Run({2, 0, FlushKind::kNone}));
  EXPECT_EQ(steady_.launches(), 1);
  EXPECT_EQ(kernel_.launches, 1 + 2);
  EXPECT_THAT(out_.device_seconds, ElementsAre(0.3, 0.3));
}

TEST_F(SteadyBurstTest, StopsWhenTheTimeIsOverWithAtLeastOneSample) {
  timeline_.tick = 1e-3;
  ASSERT_FALSE(Run({1000, 1e-6, FlushKind::kNone}));
  EXPECT_GE(out_.device_seconds.size(), 1u);
  EXPECT_LE(out_.device_seconds.size(), 2u);  // what was queued is counted too
}

TEST_F(SteadyBurstTest, AQueueThatRanDryIsFlagged) {
  timeline_.stop_reached = {false, true};
  ASSERT_FALSE(Run({4, 0, FlushKind::kNone}));
  EXPECT_EQ(out_.flags, KB_FLAG_HOST_STALL);
  EXPECT_THAT(out_.device_seconds, SizeIs(4));
}

TEST_F(SteadyBurstTest, WithoutAQueueNothingRunsDry) {
  timeline_.facts.has_queue = false;
  timeline_.stop_reached = {true, true, true, true, true};
  SteadyBurst steady(timeline_);
  ASSERT_FALSE(steady.Run({3, 0, FlushKind::kNone}, {Launch, &kernel_, nullptr}, &out_));
  EXPECT_EQ(out_.flags, 0u);
}

TEST_F(SteadyBurstTest, TheOutputIsPoisonedBeforeTheFirstBatch) {
  FakeGate gate(timeline_);
  ASSERT_FALSE(Run({1, 0, FlushKind::kNone, &gate}));
  ASSERT_EQ(Count("poison"), 1);
  EXPECT_EQ(timeline_.calls[10], "poison");  // after the pilots
}

TEST_F(SteadyBurstTest, ALaunchThatFailsLeavesTheQueueEmpty) {
  kernel_.fail_at = 5;
  const EngineError error = Run({3, 0, FlushKind::kNone});
  EXPECT_EQ(error.code, KB_LAUNCH_FAILED);
  EXPECT_THAT(error.message, HasSubstr("error 3"));
  EXPECT_EQ(timeline_.calls.back(), "end");
  EXPECT_EQ(timeline_.calls[timeline_.calls.size() - 2], "sync");
}

TEST_F(SteadyBurstTest, AFaultOfTheDeviceOutweighsTheLaunchsError) {
  kernel_.fail_at = 0;
  timeline_.synchronize_error = {KB_DEVICE_ERROR, "illegal address"};
  EXPECT_EQ(Run({3, 0, FlushKind::kNone}).code, KB_DEVICE_ERROR);
}

TEST_F(SteadyBurstTest, NoSamplesAreRefused) {
  EXPECT_EQ(Run({0, 0, FlushKind::kNone}).code, KB_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace kbench::engine
