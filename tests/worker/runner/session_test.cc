// The session in process: what it answers, from prepare to finish.
#include <filesystem>
#include <string>
#include <utility>

#include "tests/worker/runner/session_fixture.h"

namespace kbench {
namespace {

TEST_F(SessionTest, HelloNamesEveryImplementationAndLibrary) {
  v1::RunnerRequest request;
  request.mutable_hello();
  const v1::RunnerHelloReply hello = Send(request).hello();
  EXPECT_EQ(hello.protocol_version(), 1);
  EXPECT_EQ(hello.device_kind(), "cpu");
  EXPECT_EQ(hello.engine_version(), kb_version());
  bool found = false;
  for (const auto& info : hello.implementations()) {
    if (info.name() != "cpu/onednn" || info.kernel() != "matmul") continue;
    found = true;
    EXPECT_EQ(info.family(), "cpu");
    EXPECT_TRUE(info.default_choice());
    EXPECT_GT(info.dtypes_size(), 0);
  }
  EXPECT_TRUE(found);
  EXPECT_FALSE(hello.libraries().at("onednn").empty());
  EXPECT_FALSE(hello.libraries().at("openblas").empty());
}

TEST_F(SessionTest, MeasuresACaseFromPrepareToFinish) {
  const v1::RunnerReply prepared = Send(PrepareOf("matmul", "64x48x32", "cpu/openblas"));
  ASSERT_TRUE(prepared.has_prepared()) << prepared.ShortDebugString();
  EXPECT_GT(prepared.prepared().first_call_seconds(), 0);
  EXPECT_GT(prepared.prepared().estimate_seconds(), 0);
  EXPECT_EQ(prepared.prepared().footprint_bytes(), 4 * (64 * 32 + 32 * 48 + 64 * 48));
  EXPECT_EQ(prepared.prepared().mechanism(), "steady-clock");
  EXPECT_EQ(prepared.prepared().settings().at("threads"), "1");
  EXPECT_GT(prepared.prepared().clock_quantum_seconds(), 0);
  for (const auto stage : {v1::Verify::BEFORE, v1::Verify::AFTER}) {
    const v1::Verified verified = Verify(stage).verified();
    EXPECT_TRUE(verified.passed());
    EXPECT_GT(verified.relative_error(), 0);
    EXPECT_LE(verified.relative_error(), verified.tolerance());
  }
  const v1::Warmed warmed = Warm(0.01, 0.1).warmed();
  EXPECT_GT(warmed.sample_seconds(), 0);
  EXPECT_GE(warmed.pace_seconds(), warmed.sample_seconds());
  EXPECT_GE(warmed.end_to_end_calls_size(), 1);
  for (const double call : warmed.end_to_end_calls()) EXPECT_GT(call, 0);
  const v1::BurstDone burst = Burst(20, 5).burst();
  EXPECT_EQ(burst.device_seconds_size() + burst.discarded(), 20);
  EXPECT_EQ(burst.submit_seconds_size(), 0);
  for (const double seconds : burst.device_seconds()) EXPECT_GT(seconds, 0);
  EXPECT_TRUE(Verify(v1::Verify::AFTER).verified().passed());
  EXPECT_TRUE(Verify(v1::Verify::NEW_SEED, 99).verified().passed());
  EXPECT_TRUE(Finish().has_finished());
}

TEST_F(SessionTest, SharesTheReferenceThroughItsFolder) {
  const auto dir = std::filesystem::temp_directory_path() / ("session" + std::to_string(getpid()));
  std::filesystem::create_directories(dir);
  v1::RunnerRequest request = PrepareOf("matmul", "64", "cpu/naive");
  request.mutable_prepare()->set_reference_dir(dir.string());
  ASSERT_TRUE(Send(request).has_prepared());
  EXPECT_TRUE(Verify(v1::Verify::BEFORE).verified().passed());
  EXPECT_FALSE(std::filesystem::is_empty(dir));
  std::filesystem::remove_all(dir);
}

TEST_F(SessionTest, RequestsOutOfOrderAreBadState) {
  for (const v1::RunnerReply& reply : {Burst(1, 1), Warm(0, 1), Verify(v1::Verify::BEFORE)}) {
    EXPECT_EQ(reply.failure().outcome(), v1::OUTCOME_INFRA);
    EXPECT_EQ(reply.failure().reason(), "BAD_STATE");
  }
  EXPECT_TRUE(Finish().has_finished());  // nothing to finish is finished
  ASSERT_TRUE(Prepare("cpu/naive").has_prepared());
  EXPECT_EQ(Prepare("cpu/naive").failure().reason(), "BAD_STATE");
  EXPECT_TRUE(Burst(1, 1).has_burst());  // the first case is still there
}

TEST_F(SessionTest, ACpuHasNoDeviceCodeAndNoProfiler) {
  v1::RunnerRequest collect;
  collect.mutable_collect_code()->set_directory("/nowhere");
  v1::RunnerRequest profile;
  profile.mutable_profile_launch();
  EXPECT_EQ(Send(collect).failure().reason(), "BAD_STATE");
  EXPECT_EQ(Send(profile).failure().reason(), "BAD_STATE");
  ASSERT_TRUE(Prepare("cpu/naive").has_prepared());
  const v1::RunnerReply collected = Send(collect);
  EXPECT_EQ(collected.code_collected().functions_size(), 0);
  EXPECT_EQ(collected.code_collected().message(), "");
  EXPECT_EQ(Send(profile).failure().reason(), "NO_PROFILER");
}

TEST_F(SessionTest, AProfiledLaunchIsBracketed) {
  RunnerIdentity identity = TestIdentity();
  std::string range;
  identity.profiler_range = [&](bool begins) { range += begins ? "(" : ")"; };
  Session session(std::move(identity));
  ASSERT_TRUE(session.Handle(PrepareOf("sum", "1000", "cpu/naive")).has_prepared());
  v1::RunnerRequest profile;
  profile.mutable_profile_launch();
  EXPECT_TRUE(session.Handle(profile).has_launch_profiled());
  EXPECT_EQ(range, "()");
}

TEST_F(SessionTest, RequestsThatMakeNoSenseAreBadRequests) {
  EXPECT_EQ(Send({}).failure().reason(), "BAD_REQUEST");
  ASSERT_TRUE(Prepare("cpu/naive").has_prepared());
  EXPECT_EQ(Burst(0, 1).failure().reason(), "BAD_REQUEST");
  EXPECT_EQ(Burst(10001, 1).failure().reason(), "BAD_REQUEST");
  EXPECT_EQ(Burst(1, -1).failure().reason(), "BAD_REQUEST");
  EXPECT_EQ(Warm(2, 1).failure().reason(), "BAD_REQUEST");
  EXPECT_EQ(Warm(0, 0).failure().reason(), "BAD_REQUEST");
  EXPECT_EQ(Verify(v1::Verify::STAGE_UNSPECIFIED).failure().reason(), "BAD_REQUEST");
}

TEST_F(SessionTest, HotModeFlushesNothing) {
  v1::RunnerRequest request = PrepareOf("sum", "1000", "cpu/naive");
  request.mutable_prepare()->mutable_case_()->set_mode("hot");
  const v1::RunnerReply reply = Send(request);
  EXPECT_EQ(reply.prepared().settings().at("flush"), "none");
  EXPECT_EQ(reply.prepared().settings().at("flush_bytes"), "0");
}

TEST_F(SessionTest, SteadyModeRunsFromPrepareToFinish) {
  v1::RunnerRequest request = PrepareOf("sum", "1000", "cpu/naive");
  request.mutable_prepare()->mutable_case_()->set_mode("steady");
  const v1::RunnerReply reply = Send(request);
  ASSERT_TRUE(reply.has_prepared()) << reply.ShortDebugString();
  EXPECT_EQ(reply.prepared().mechanism(), "steady-clock-back-to-back");
  EXPECT_GE(reply.prepared().launches_per_sample(), 2);
  EXPECT_EQ(reply.prepared().operand_sets(), 1);
  EXPECT_EQ(reply.prepared().settings().at("flush"), "none");
  EXPECT_GT(reply.prepared().clock_quantum_seconds(), 0);
  EXPECT_TRUE(Verify(v1::Verify::BEFORE).verified().passed());
  EXPECT_TRUE(Warm(0.01, 0.1).has_warmed());
  const v1::BurstDone burst = Burst(4, 5).burst();
  EXPECT_EQ(burst.device_seconds_size(), 4);
  EXPECT_GT(burst.duty_ratio(), 0);
  EXPECT_TRUE(Verify(v1::Verify::AFTER).verified().passed());
  EXPECT_TRUE(Verify(v1::Verify::NEW_SEED, 7).verified().passed());
}

TEST_F(SessionTest, CalibratesBetweenCasesOnly) {
  v1::RunnerRequest request;
  request.mutable_calibrate();
  const v1::RunnerReply reply = Send(request);
  ASSERT_TRUE(reply.has_calibrated()) << reply.ShortDebugString();
  const v1::Calibration& calibration = reply.calibrated().calibration();
  EXPECT_TRUE(calibration.passed()) << calibration.failed_step() << ": " << calibration.message();
  ASSERT_EQ(calibration.known_durations_size(), KB_KNOWN_DURATIONS);
  EXPECT_GE(calibration.known_durations(3).expected_seconds(), 5e-3);
  EXPECT_NEAR(calibration.known_durations(3).measured_seconds(),
              calibration.known_durations(3).expected_seconds(),
              calibration.known_durations(3).allowed_seconds());
  EXPECT_GT(calibration.read_bandwidth(), 1e8);
  EXPECT_GT(calibration.seconds(), 0.05);
  EXPECT_EQ(calibration.engine_version(), kb_version());
  ASSERT_TRUE(Prepare("cpu/naive").has_prepared());
  EXPECT_EQ(Send(request).failure().reason(), "BAD_STATE");
  EXPECT_TRUE(Burst(1, 1).has_burst());  // the case is still there
}

TEST_F(SessionTest, FixturesOfTheSelfTestAreHiddenAndRun) {
  v1::RunnerRequest request;
  request.mutable_hello();
  int hidden = 0;
  const v1::RunnerReply reply = Send(request);
  for (const auto& info : reply.hello().implementations()) {
    if (!info.hidden()) continue;
    ++hidden;
    EXPECT_EQ(info.family(), "selftest");
    EXPECT_FALSE(info.default_choice());
  }
  EXPECT_EQ(hidden, 3);
  for (const char* name : {"selftest/a", "selftest/b", "selftest/slower"}) {
    ASSERT_TRUE(Send(PrepareOf("copy", "10000", name)).has_prepared());
    EXPECT_TRUE(Verify(v1::Verify::BEFORE).verified().passed());
    EXPECT_TRUE(Finish().has_finished());
  }
}

TEST_F(SessionTest, ABurstStopsWhenItsTimeIsOver) {
  ASSERT_TRUE(Prepare("fixture/slow").has_prepared());  // 100 ms a launch
  const v1::BurstDone burst = Burst(100, 0.05).burst();
  EXPECT_EQ(burst.device_seconds_size(), 1);
  EXPECT_GE(burst.device_seconds(0), 0.1);
}

}  // namespace
}  // namespace kbench
