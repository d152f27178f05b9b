#include "client/job_view.h"

#include "client/output/progress.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/samples.h"

namespace kbench::client {
namespace {

using ::testing::ElementsAre;
using testing::Event;
using ::testing::IsEmpty;
using testing::Parse;

constexpr char kSnapshot[] = R"(snapshot { name: "jobs/k3f9x2ab" state: JOB_STATE_QUEUED
  last_sequence: 4 queue_position: 2
  cases { index: 0 spec { kernel: "sum" dtype: "fp32" size: "1Mi" } state: JOB_STATE_QUEUED }
  cases { index: 1 spec { kernel: "sum" dtype: "fp32" size: "2Mi" } state: JOB_STATE_QUEUED } })";

TEST(JobViewTest, FoldsEventsAndReportsEachEndOnce) {
  JobView view;
  EXPECT_THAT(view.Apply(Event(kSnapshot)), IsEmpty());
  EXPECT_EQ(view.sequence(), 4);
  EXPECT_THAT(view.Apply(Event("sequence: 5 case_changed { index: 0 state: JOB_STATE_RUNNING }")),
              IsEmpty());
  EXPECT_EQ(view.job().state(), kbench::v1::JOB_STATE_RUNNING);
  // The specification survives an event that does not repeat it.
  EXPECT_EQ(view.job().cases(0).spec().size(), "1Mi");
  // A lost attempt puts it back: that is no end.
  EXPECT_THAT(view.Apply(Event("sequence: 6 case_changed { index: 0 state: JOB_STATE_QUEUED }")),
              IsEmpty());
  const auto ended = Event(
      "sequence: 7 case_changed { index: 0 state: JOB_STATE_SUCCEEDED results { outcome: "
      "OUTCOME_OK } }");
  EXPECT_THAT(view.Apply(ended), ElementsAre(0));
  EXPECT_EQ(view.job().cases_done(), 1);
  EXPECT_THAT(view.Apply(ended), IsEmpty()) << "a repeated event";
  EXPECT_EQ(view.job().cases_done(), 1);
  // The end, without the results of the first case: they are kept.
  EXPECT_THAT(
      view.Apply(Event(R"(sequence: 9 final { name: "jobs/k3f9x2ab" state: JOB_STATE_SUCCEEDED
      cases { index: 0 state: JOB_STATE_SUCCEEDED } cases { index: 1 state: JOB_STATE_SUCCEEDED } })")),
      ElementsAre(1));
  EXPECT_TRUE(view.final());
  EXPECT_EQ(view.job().cases(0).results_size(), 1);
}

TEST(JobViewTest, ASnapshotAfterABreakTellsWhatEndedMeanwhile) {
  JobView view;
  view.Apply(Event(kSnapshot));
  EXPECT_THAT(view.Apply(Event(R"(snapshot { name: "jobs/k3f9x2ab" state: JOB_STATE_RUNNING
      last_sequence: 12 cases { index: 0 state: JOB_STATE_SUCCEEDED results { } }
      cases { index: 1 state: JOB_STATE_RUNNING } })")),
              ElementsAre(0));
  EXPECT_EQ(view.sequence(), 12);
  EXPECT_THAT(view.Apply(Event("sequence: 7 case_changed { index: 1 state: JOB_STATE_FAILED }")),
              IsEmpty())
      << "older than the snapshot";
}

TEST(ProgressTextTest, SaysWhereItStands) {
  JobView view;
  view.Apply(Event(kSnapshot));
  EXPECT_EQ(ProgressText(view), "job k3f9x2ab waits: 2 cases ahead, nobody can say when it starts");
  view.Apply(Event(R"(time { seconds: 1000 } queue { position: 2
      start_estimate { earliest { seconds: 1040 } latest { seconds: 1170 } } })"));
  EXPECT_EQ(ProgressText(view), "job k3f9x2ab waits: 2 cases ahead, starts in 40 s to 3 min");
  view.Apply(Event(R"(time { seconds: 1100 } queue { position: 1
      start_estimate { earliest { seconds: 1100 } latest { seconds: 1170 } } })"));
  EXPECT_EQ(ProgressText(view), "job k3f9x2ab waits: 1 case ahead, starts within 2 min");
  view.Apply(Event(R"(queue { reason: "DEVICE_OFFLINE" message: "its device is offline" })"));
  EXPECT_EQ(ProgressText(view), "job k3f9x2ab waits: its device is offline");
  view.Apply(Event("queue { }"));
  view.Apply(
      Event("sequence: 5 case_changed { index: 1 state: JOB_STATE_RUNNING device: \"cpu\" }"));
  EXPECT_EQ(ProgressText(view), "case 2/2 sum fp32 2Mi on cpu: starting");
  view.Apply(Event(R"(progress { case_index: 1 phase: "measure" implementation: "cpu/naive" round: 3
      max_rounds: 60 interval_ratio: 0.008 median_seconds: 19e-6 elapsed { seconds: 2 } })"));
  EXPECT_EQ(ProgressText(view),
            "case 2/2 sum fp32 2Mi on cpu: measuring cpu/naive, round 3 of 60, +-0.80%, 19.00 us, "
            "2 s");
  // All cases are done, the end of the job is not told yet: it does not wait.
  view.Apply(Event("sequence: 6 case_changed { index: 0 state: JOB_STATE_SUCCEEDED }"));
  view.Apply(Event("sequence: 7 case_changed { index: 1 state: JOB_STATE_SUCCEEDED }"));
  EXPECT_EQ(ProgressText(view), "");
}

TEST(ProgressTextTest, SaysForWhomTheDeviceIsWaitedFor) {
  JobView view;
  view.Apply(Event(R"(snapshot { name: "jobs/a" state: JOB_STATE_RUNNING
      cases { state: JOB_STATE_RUNNING spec { kernel: "sum" dtype: "fp32" size: "1Mi" }
              device: "gpu0" } })"));
  view.Apply(Event("progress { phase: \"wait\" elapsed { seconds: 3 } }"));
  EXPECT_EQ(ProgressText(view), "sum fp32 1Mi on gpu0: waiting for the device, 3 s");
  view.Apply(Event(R"(progress { phase: "wait" elapsed { seconds: 4 } message:
      "waiting for the device: process 321 (python, user ann) uses 37 % of the device" })"));
  EXPECT_EQ(ProgressText(view),
            "sum fp32 1Mi on gpu0: waiting for the device: process 321 (python, user ann) uses "
            "37 % of the device, 4 s");
}

TEST(ProgressTextTest, SaysWhyItWaits) {
  JobView view;
  view.Apply(Event(R"(snapshot { name: "jobs/a" state: JOB_STATE_QUEUED reason: "DEVICE_OFFLINE"
      cases { state: JOB_STATE_QUEUED } })"));
  EXPECT_EQ(ProgressText(view), "job a waits: its device is offline");
}

}  // namespace
}  // namespace kbench::client
