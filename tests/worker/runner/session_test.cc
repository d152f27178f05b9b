// The session in process: the real engine, the CPU table and the fixtures.
#include "worker/runner/session.h"

#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/worker/runner/fixtures.h"
#include "worker/runner/cpu_identity.h"

namespace kbench {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

RunnerIdentity TestIdentity() {
  RunnerIdentity identity = CpuIdentity(1);
  for (const Implementation& fixture : FixtureTable()) identity.implementations.push_back(&fixture);
  return identity;
}

class SessionTest : public ::testing::Test {
 protected:
  v1::RunnerReply Send(v1::RunnerRequest request) {
    request.set_id(++id_);
    v1::RunnerReply reply = session_.Handle(request);
    EXPECT_EQ(reply.id(), id_);
    return reply;
  }
  v1::RunnerRequest PrepareOf(const std::string& kernel, const std::string& size,
                              const std::string& implementation) {
    v1::RunnerRequest request;
    v1::Prepare* prepare = request.mutable_prepare();
    prepare->mutable_case_()->set_kernel(kernel);
    prepare->mutable_case_()->set_dtype("fp32");
    prepare->mutable_case_()->set_size(size);
    prepare->set_implementation(implementation);
    prepare->set_seed(1);
    prepare->set_launch_limit_seconds(5);
    return request;
  }
  v1::RunnerReply Prepare(const std::string& implementation) {
    return Send(PrepareOf("sum", "1000", implementation));
  }
  v1::RunnerReply Verify(v1::Verify::Stage stage, std::uint64_t seed = 0) {
    v1::RunnerRequest request;
    request.mutable_verify()->set_stage(stage);
    request.mutable_verify()->set_seed(seed);
    return Send(request);
  }
  v1::RunnerReply Burst(int samples, double max_seconds) {
    v1::RunnerRequest request;
    request.mutable_burst()->set_samples(samples);
    request.mutable_burst()->set_max_seconds(max_seconds);
    return Send(request);
  }
  v1::RunnerReply Warm(double min_seconds, double max_seconds) {
    v1::RunnerRequest request;
    request.mutable_warm()->set_min_seconds(min_seconds);
    request.mutable_warm()->set_max_seconds(max_seconds);
    return Send(request);
  }
  v1::RunnerReply Finish() {
    v1::RunnerRequest request;
    request.mutable_finish();
    return Send(request);
  }
  // Prepares, checks the failure, and sees that the session still works afterwards.
  void ExpectPrepareFails(const v1::RunnerRequest& request, v1::Outcome outcome,
                          const std::string& reason, const std::string& message_part) {
    const v1::RunnerReply reply = Send(request);
    ASSERT_TRUE(reply.has_failure()) << reply.ShortDebugString();
    EXPECT_EQ(reply.failure().outcome(), outcome) << reply.ShortDebugString();
    EXPECT_EQ(reply.failure().reason(), reason);
    EXPECT_THAT(reply.failure().message(), HasSubstr(message_part));
    EXPECT_FALSE(reply.failure().fatal());
    EXPECT_TRUE(Prepare("cpu/naive").has_prepared());
    EXPECT_TRUE(Verify(v1::Verify::BEFORE).verified().passed());
    EXPECT_TRUE(Finish().has_finished());
  }
  void ExpectWrong(const std::string& implementation, const std::string& reason) {
    ASSERT_TRUE(Prepare(implementation).has_prepared());
    const v1::RunnerReply reply = Verify(v1::Verify::BEFORE);
    ASSERT_TRUE(reply.has_verified()) << reply.ShortDebugString();
    EXPECT_FALSE(reply.verified().passed());
    EXPECT_EQ(reply.verified().reason(), reason);
    EXPECT_FALSE(reply.verified().message().empty());
  }

  Session session_{TestIdentity()};
  std::uint64_t id_ = 0;
};

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

TEST_F(SessionTest, WhatCannotRunIsUnsupportedBeforeAnythingIsAllocated) {
  ExpectPrepareFails(PrepareOf("fft", "8", "cpu/naive"), v1::OUTCOME_UNSUPPORTED, "UNKNOWN_KERNEL",
                     "fft");
  ExpectPrepareFails(PrepareOf("sum", "1000", "cpu/none"), v1::OUTCOME_UNSUPPORTED,
                     "UNKNOWN_IMPLEMENTATION", "cpu/none");
  v1::RunnerRequest request = PrepareOf("sum", "1000", "fixture/right");
  request.mutable_prepare()->mutable_case_()->set_dtype("fp64");
  ExpectPrepareFails(request, v1::OUTCOME_UNSUPPORTED, "UNSUPPORTED_DTYPE", "fp64");
  request = PrepareOf("sum", "1000", "cpu/naive");
  request.mutable_prepare()->mutable_case_()->set_mode("graph");
  ExpectPrepareFails(request, v1::OUTCOME_UNSUPPORTED, "UNSUPPORTED_MODE",
                     "use cold, hot or steady");
}

TEST_F(SessionTest, AnUnknownFlushIsABadRequest) {
  v1::RunnerRequest request = PrepareOf("sum", "1000", "cpu/naive");
  request.mutable_prepare()->set_flush("thorough");
  ExpectPrepareFails(request, v1::OUTCOME_INFRA, "BAD_REQUEST", "clean, dirty, none");
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

TEST_F(SessionTest, ALaunchThatWouldTakeTooLongIsSkippedWithItsEstimate) {
  v1::RunnerRequest request = PrepareOf("matmul", "8192", "cpu/naive");
  const v1::RunnerReply reply = Send(request);
  EXPECT_EQ(reply.failure().outcome(), v1::OUTCOME_SKIPPED);
  EXPECT_GT(reply.failure().estimate_seconds(), 5);
  EXPECT_THAT(reply.failure().message(), HasSubstr("the limit is 5 s"));
}

TEST_F(SessionTest, MoreMemoryThanAllowedIsRefusedWithBothNumbers) {
  v1::RunnerRequest request = PrepareOf("sum", "1Mi", "cpu/naive");
  request.mutable_prepare()->set_memory_limit_bytes(1 << 20);
  const v1::RunnerReply reply = Send(request);
  EXPECT_EQ(reply.failure().outcome(), v1::OUTCOME_OUT_OF_MEMORY);
  EXPECT_GT(reply.failure().needed_bytes(), 4 << 20);
  EXPECT_EQ(reply.failure().free_bytes(), 1 << 20);
  ExpectPrepareFails(PrepareOf("sum", "2^44", "cpu/openblas"), v1::OUTCOME_UNSUPPORTED, "BAD_SIZE",
                     "");
}

TEST_F(SessionTest, FailuresOfAnImplementationAreOutcomes) {
  ExpectPrepareFails(PrepareOf("sum", "1000", "fixture/oom"), v1::OUTCOME_OUT_OF_MEMORY,
                     "OUT_OF_MEMORY", "there is less (needed: 1125899906842624 bytes; free: ");
  ExpectPrepareFails(PrepareOf("sum", "1000", "fixture/fails"), v1::OUTCOME_CRASHED,
                     "LAUNCH_FAILED", "on purpose (42)");
  ExpectPrepareFails(PrepareOf("sum", "1000", "fixture/throws"), v1::OUTCOME_CRASHED, "EXCEPTION",
                     "on purpose");
}

TEST_F(SessionTest, WrongResultsAreFound) {
  for (const auto& [implementation, reason] :
       std::map<std::string, std::string>{{"fixture/nan", "NOT_FINITE"},
                                          {"fixture/overrun", "GUARD_OVERWRITTEN"},
                                          {"fixture/mutates", "INPUT_MODIFIED"},
                                          {"fixture/zeros", "NORM"}}) {
    SCOPED_TRACE(implementation);
    ExpectWrong(implementation, reason);
    Finish();
  }
  ASSERT_TRUE(Prepare("fixture/wrong").has_prepared());
  EXPECT_THAT(Verify(v1::Verify::BEFORE).verified().reason(), AnyOf("TOLERANCE", "NORM"));
}

TEST_F(SessionTest, Tf32ProductsUnderAnFp32LabelAreRefusedByName) {
  for (const char* size : {"16x16x256", "16x16x4096"}) {
    SCOPED_TRACE(size);
    ASSERT_TRUE(Send(PrepareOf("matmul", size, "fixture/tf32")).has_prepared());
    const v1::Verified verified = Verify(v1::Verify::BEFORE).verified();
    EXPECT_FALSE(verified.passed());
    EXPECT_EQ(verified.reason(), "MATH_MODE_MISMATCH");
    EXPECT_THAT(verified.message(), HasSubstr("ask for tf32"));
    Finish();
  }
}

TEST_F(SessionTest, AnImplementationThatStopsWorkingIsFoundAfterTheBursts) {
  for (const char* mode : {"cold", "hot", "steady"}) {
    SCOPED_TRACE(mode);
    v1::RunnerRequest request = PrepareOf("matmul", "16", "fixture/stale");
    request.mutable_prepare()->mutable_case_()->set_mode(mode);
    ASSERT_TRUE(Send(request).has_prepared());
    // In mode steady the pilot has gone past the launches that work.
    const bool works = std::string(mode) != "steady";
    EXPECT_EQ(Verify(v1::Verify::BEFORE).verified().passed(), works);
    ASSERT_TRUE(Burst(40, 5).has_burst());
    const v1::Verified after = Verify(v1::Verify::AFTER).verified();
    EXPECT_FALSE(after.passed());
    EXPECT_EQ(after.reason(), "NOT_FINITE");
    Finish();
  }
}

TEST_F(SessionTest, AnImplementationThatCachesItsResultIsFoundOnANewSeed) {
  for (const auto& [kernel, size] : {std::pair("sum", "1000"), std::pair("matmul", "16")}) {
    SCOPED_TRACE(kernel);
    ASSERT_TRUE(Send(PrepareOf(kernel, size, "fixture/caches")).has_prepared());
    EXPECT_TRUE(Verify(v1::Verify::BEFORE).verified().passed());
    ASSERT_TRUE(Burst(5, 5).has_burst());
    EXPECT_TRUE(Verify(v1::Verify::AFTER).verified().passed());
    const v1::Verified renewed = Verify(v1::Verify::NEW_SEED, 99).verified();
    EXPECT_FALSE(renewed.passed());
    EXPECT_THAT(renewed.reason(), AnyOf("TOLERANCE", "NORM"));
    Finish();
  }
}

TEST_F(SessionTest, WorkThatIsDoneAfterTheReturnIsFound) {
#if defined(KBENCH_TSAN)
  GTEST_SKIP() << "the fixture writes behind the checker's back, which is a race on purpose";
#endif
  ASSERT_TRUE(Prepare("fixture/side-thread").has_prepared());
  const v1::Verified verified = Verify(v1::Verify::BEFORE).verified();
  EXPECT_FALSE(verified.passed());
  EXPECT_EQ(verified.reason(), "NOT_FINITE");
}

TEST_F(SessionTest, AFailureByStatusAloneThrowsTheTimesAway) {
  ASSERT_TRUE(Prepare("fixture/fails-late").has_prepared());
  EXPECT_TRUE(Verify(v1::Verify::BEFORE).verified().passed());
  const v1::RunnerReply reply = Burst(100, 5);
  EXPECT_EQ(reply.failure().outcome(), v1::OUTCOME_CRASHED);
  EXPECT_EQ(reply.failure().reason(), "LAUNCH_FAILED");
  EXPECT_THAT(reply.failure().message(), HasSubstr("on purpose (42)"));
  EXPECT_FALSE(reply.failure().fatal());
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
