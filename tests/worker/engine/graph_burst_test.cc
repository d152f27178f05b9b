#include "worker/engine/graph_burst.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/worker/engine/fake_timeline.h"

namespace kbench::engine {
namespace {

using ::testing::DoubleEq;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

struct Kernel {
  const int* set;
  int fail_at = -1;
  std::vector<int> sets = {};  // whose turn it was, launch by launch
};

int Launch(void* user, void*) {
  auto* kernel = static_cast<Kernel*>(user);
  kernel->sets.push_back(*kernel->set);
  return static_cast<int>(kernel->sets.size()) - 1 == kernel->fail_at ? 9 : 0;
}

class GraphBurstTest : public ::testing::Test {
 protected:
  EngineError Run(const BurstSpec& spec) {
    return graph_.Run(spec, {Launch, &kernel_, nullptr}, &out_);
  }

  FakeTimeline timeline_;
  int set_ = 2;
  Kernel kernel_{&set_};
  BurstRunner bursts_{timeline_};
  GraphBurst graph_{timeline_, bursts_, 3, &set_};
  BurstOutcome out_;
};

TEST_F(GraphBurstTest, RotatesThroughEverySetAndDividesByTheLaunches) {
  timeline_.sample_seconds = 300e-6;  // the pilot: three launches of 100 us
  ASSERT_FALSE(Run({4, 0, FlushKind::kClean}));
  EXPECT_EQ(graph_.launches(), 12);  // 1 ms in whole turns of three
  EXPECT_EQ(timeline_.captured_launches, 12);
  ASSERT_THAT(kernel_.sets, SizeIs(3 + 3 + 12));  // launched, captured for the pilot, captured
  for (std::size_t i = 0; i < kernel_.sets.size(); ++i) {
    EXPECT_EQ(kernel_.sets[i], static_cast<int>(i % 3));
  }
  EXPECT_EQ(set_, 2);  // launched last
  EXPECT_THAT(out_.device_seconds, Each(DoubleEq(25e-6)));
  EXPECT_THAT(out_.device_seconds, SizeIs(4));
  EXPECT_THAT(out_.submit_seconds, SizeIs(4));
  EXPECT_NEAR(out_.busy_seconds, 1.2e-3, 1e-12);
  kernel_.sets.clear();
  ASSERT_FALSE(Run({4, 0, FlushKind::kClean}));  // planned once
  EXPECT_THAT(kernel_.sets, SizeIs(0));
}

TEST_F(GraphBurstTest, ReplaysLieBehindTheBlockerBetweenMarksWithoutAFlush) {
  timeline_.sample_seconds = 5e-3;
  ASSERT_FALSE(Run({1, 0, FlushKind::kClean}));
  EXPECT_EQ(graph_.launches(), 3);
  timeline_.calls.clear();
  FakeGate gate(timeline_);
  ASSERT_FALSE(Run({2, 0, FlushKind::kClean, &gate}));
  EXPECT_THAT(timeline_.calls,
              ElementsAre("begin", "block", "none", "start0", "replay", "stop0", "poison", "none",
                          "start1", "replay", "stop1", "note", "release", "sync", "look", "end"));
}

TEST_F(GraphBurstTest, ALongTurnNeedsNoPilot) {
  timeline_.tick = 0.05;  // between two readings
  timeline_.sample_seconds = 0.06;
  ASSERT_FALSE(Run({1, 0, FlushKind::kClean}));
  EXPECT_EQ(graph_.launches(), 3);
  EXPECT_THAT(kernel_.sets, SizeIs(3 + 3));
  EXPECT_THAT(out_.device_seconds, ElementsAre(0.02));
}

TEST_F(GraphBurstTest, ALaunchThatCannotBeCapturedIsNamed) {
  kernel_.fail_at = 4;  // launches well, but not while it is captured
  const EngineError error = Run({1, 0, FlushKind::kClean});
  EXPECT_EQ(error.code, KB_NOT_CAPTURABLE);
  EXPECT_THAT(error.message, HasSubstr("returned error 9"));
  EXPECT_THAT(error.message, HasSubstr("use mode cold or hot"));
  EXPECT_EQ(timeline_.calls.back(), "captured");  // the stream is no longer captured
  EXPECT_THAT(out_.device_seconds, SizeIs(0));
}

TEST_F(GraphBurstTest, ACaptureThatFailsIsNeverReplayed) {
  timeline_.end_capture_error = {KB_NOT_CAPTURABLE, "nothing captured"};
  EXPECT_EQ(Run({1, 0, FlushKind::kClean}).message, "nothing captured");
  EXPECT_EQ(std::count(timeline_.calls.begin(), timeline_.calls.end(), "replay"), 0);
}

TEST_F(GraphBurstTest, AFaultOfTheDeviceOutweighsTheCapture) {
  kernel_.fail_at = 4;
  timeline_.end_capture_error = {KB_DEVICE_ERROR, "illegal address"};
  EXPECT_EQ(Run({1, 0, FlushKind::kClean}).code, KB_DEVICE_ERROR);
}

TEST_F(GraphBurstTest, ALaunchThatFailsBeforeTheCaptureIsAFailedLaunch) {
  kernel_.fail_at = 1;
  EXPECT_EQ(Run({1, 0, FlushKind::kClean}).code, KB_LAUNCH_FAILED);
}

TEST_F(GraphBurstTest, AReplayThatFailsKeepsItsOwnWords) {
  ASSERT_FALSE(Run({1, 0, FlushKind::kClean}));
  timeline_.replay_error = {KB_IO_ERROR, "no replay"};
  const EngineError error = Run({1, 0, FlushKind::kClean});
  EXPECT_EQ(error.code, KB_IO_ERROR);
  EXPECT_EQ(error.message, "no replay");
}

}  // namespace
}  // namespace kbench::engine
