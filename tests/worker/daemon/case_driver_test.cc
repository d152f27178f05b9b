#include "tests/worker/daemon/case_driver_fixture.h"

namespace kbench {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;

TEST_F(CaseDriverTest, MeasuresAndCompares) {
  Implementations({"fake/half", "fake/fast"}, "fake/half");
  auto results = Run();
  const v1::Result& fast = results["fake/fast"];
  EXPECT_EQ(fast.outcome(), v1::OUTCOME_OK) << fast.message();
  EXPECT_EQ(fast.verdict(), v1::VERDICT_VALID) << fast.message();
  EXPECT_NEAR(fast.device_time().median(), 1e-3, 2e-6);
  EXPECT_EQ(fast.device_time().rounds(), 8);
  EXPECT_GE(fast.device_time().samples(), 80);
  EXPECT_NEAR(fast.comparison().speedup(), 2, 0.01);
  EXPECT_EQ(fast.comparison().baseline(), "fake/half");
  EXPECT_FALSE(results["fake/half"].has_comparison());
  EXPECT_TRUE(results["fake/half"].is_baseline());
  EXPECT_NEAR(fast.throughput().flops(), 2.0 * 64 * 64 * 64, 1);
  EXPECT_NEAR(fast.device_cycles(), 1e6, 2e3);
  EXPECT_THAT(fast.verification().stages(), ElementsAre("before", "after", "new-seed"));
  EXPECT_EQ(fast.environment().libraries().at("fakelib"), "1.2");
  EXPECT_EQ(fast.configuration().at("tile"), "64");
  EXPECT_EQ(fast.case_().shape(), "m=64,n=64,k=64,layout=nn");
  EXPECT_EQ(fast.attempt(), 2);
  EXPECT_THAT(fast.replay(), HasSubstr("kbench-client submit matmul fp32 m=64,n=64,k=64,layout=nn "
                                       "--impl fake/fast --device gpu0"));
  EXPECT_THAT(fast.artifacts(), ElementsAre("samples-fake_fast.json", "log-fake_fast.txt"));
  ASSERT_GE(outcome_.result.artifacts_size(), 2);
  EXPECT_THAT(outcome_.result.artifacts(0).content(), HasSubstr("\"device_seconds\":[0.00"));
  EXPECT_TRUE(std::filesystem::is_empty(scratch_)) << "the folder of the case must be removed";
}

TEST_F(CaseDriverTest, ProgressNamesThePhases) {
  Implementations({"fake/fast"});
  Run();
  std::vector<std::string> phases;
  for (const auto& progress : progress_) {
    if (phases.empty() || phases.back() != progress.phase()) phases.push_back(progress.phase());
  }
  EXPECT_THAT(phases, ElementsAre("prepare", "verify", "warm", "measure", "check", "finish"));
  EXPECT_GT(progress_.back().interval_ratio(), 0);
  EXPECT_NEAR(progress_.back().median_seconds(), 1e-3, 1e-5);
}

TEST_F(CaseDriverTest, FaultsOfSomeLeaveTheOthersTheirNumbers) {
  Implementations({"fake/crash", "fake/fast", "fake/crash-prepare", "fake/hang-prepare",
                   "fake/nan-frame", "fake/wrong", "fake/wrong-after", "fake/oom", "fake/negative",
                   "fake/empty", "fake/unsupported", "fake/too-slow", "nobody/knows"},
                  "fake/fast");
  SetBudget(8);
  auto results = Run();
  EXPECT_EQ(results["fake/fast"].outcome(), v1::OUTCOME_OK);
  EXPECT_EQ(results["fake/fast"].verdict(), v1::VERDICT_VALID) << results["fake/fast"].message();
  const auto expect = [&](const char* name, v1::Outcome outcome, const char* reason) {
    EXPECT_EQ(results[name].outcome(), outcome) << name << ": " << results[name].message();
    EXPECT_EQ(results[name].reason(), reason) << name;
    EXPECT_FALSE(results[name].message().empty()) << name;
    EXPECT_EQ(results[name].device_time().median(), 0) << name << " must show no time";
    EXPECT_EQ(results[name].verdict(), v1::VERDICT_UNSPECIFIED) << name;
  };
  expect("fake/crash", v1::OUTCOME_CRASHED, "SIGABRT");
  expect("fake/crash-prepare", v1::OUTCOME_CRASHED, "SIGABRT");
  expect("fake/hang-prepare", v1::OUTCOME_TIMED_OUT, "PREPARE_TIMEOUT");
  expect("fake/nan-frame", v1::OUTCOME_CRASHED, "BAD_FRAME");
  expect("fake/wrong", v1::OUTCOME_WRONG_RESULT, "TOLERANCE");
  expect("fake/wrong-after", v1::OUTCOME_WRONG_RESULT, "TOLERANCE");
  expect("fake/oom", v1::OUTCOME_OUT_OF_MEMORY, "DEVICE_MEMORY");
  expect("fake/negative", v1::OUTCOME_CRASHED, "BAD_BURST");
  expect("fake/empty", v1::OUTCOME_INFRA, "NO_SAMPLES");
  expect("fake/unsupported", v1::OUTCOME_UNSUPPORTED, "NO_LAYOUT");
  expect("fake/too-slow", v1::OUTCOME_SKIPPED, "OVER_BUDGET");
  expect("nobody/knows", v1::OUTCOME_UNSUPPORTED, "UNKNOWN_IMPLEMENTATION");
  EXPECT_EQ(results["fake/too-slow"].estimate_seconds(), 100);
  EXPECT_NEAR(results["fake/wrong"].verification().relative_error(), 0.5, 1e-9);
  EXPECT_FALSE(results["fake/wrong"].verification().verified());
  EXPECT_EQ(outcome_.result.infra_error(), "");
}

TEST_F(CaseDriverTest, SlowLaunchesEndWithinTheBudgetAndKeepTheirNumber) {
  // 0.35 s a launch (check, rounds, check) in 4 s: no room for six rounds, but a number.
  Implementations({"fake/slow", "fake/too-slow"}, "fake/slow");
  SetBudget(4);
  const double begin = SystemClock().SteadySeconds();
  auto results = Run();
  EXPECT_LT(SystemClock().SteadySeconds() - begin, 4.0);
  const v1::Result& slow = results["fake/slow"];
  EXPECT_EQ(slow.outcome(), v1::OUTCOME_OK) << slow.message();
  EXPECT_GE(slow.device_time().rounds(), 4);
  EXPECT_EQ(slow.device_time().samples(), slow.device_time().rounds()) << "one sample a round";
  EXPECT_THAT(slow.verification().stages(), Contains("new-seed"));
  EXPECT_EQ(results["fake/too-slow"].outcome(), v1::OUTCOME_SKIPPED);
}

TEST_F(CaseDriverTest, NoiseIsSuspectAndExplained) {
  Implementations({"fake/noisy"});
  auto results = Run();
  const v1::Result& noisy = results["fake/noisy"];
  EXPECT_EQ(noisy.outcome(), v1::OUTCOME_OK);
  EXPECT_EQ(noisy.verdict(), v1::VERDICT_SUSPECT);
  EXPECT_EQ(noisy.device_time().rounds(), 40);
  EXPECT_THAT(noisy.verdict_reasons(), IsSupersetOf({"NOT_CONVERGED", "NOISY"}));
  EXPECT_THAT(noisy.message(), HasSubstr("after 40 rounds"));
}

TEST_F(CaseDriverTest, DriftAtTheFirstLookWarmsUpAgain) {
  Implementations({"fake/drift"});
  auto results = Run();
  const v1::Result& drift = results["fake/drift"];
  EXPECT_EQ(drift.verdict(), v1::VERDICT_VALID) << drift.message();
  EXPECT_EQ(drift.device_time().discarded_rounds(), 8);
  EXPECT_NEAR(drift.device_time().median(), 1.4e-3, 1e-5) << "the rounds after the drift";
}

TEST_F(CaseDriverTest, WhatDoesNotFitTogetherRunsInGroupsWithTheBaseline) {
  Implementations({"fake/fast", "fake/oom-if-shared", "fake/half"}, "fake/fast");
  auto results = Run();
  const v1::Result& alone = results["fake/oom-if-shared"];
  EXPECT_EQ(alone.outcome(), v1::OUTCOME_OK) << alone.reason() << alone.message();
  EXPECT_THAT(alone.verdict_reasons(), Contains("GROUPED"));
  EXPECT_EQ(results["fake/half"].outcome(), v1::OUTCOME_OK);
  EXPECT_EQ(results["fake/fast"].outcome(), v1::OUTCOME_OK);
  EXPECT_TRUE(results["fake/half"].has_comparison());
}

TEST_F(CaseDriverTest, ExclusiveDevicesHoldOneAtATime) {
  facts_.exclusive = true;
  Implementations({"fake/oom-if-shared", "fake/half"}, "fake/half");
  auto results = Run();
  EXPECT_EQ(results["fake/oom-if-shared"].outcome(), v1::OUTCOME_OK);
  EXPECT_EQ(results["fake/half"].outcome(), v1::OUTCOME_OK);
}

TEST_F(CaseDriverTest, ALostBaselineIsReplacedByTheNextOfTheCatalog) {
  // Lost before the rounds, and in the middle of them.
  for (const char* lost : {"fake/unsupported", "fake/crash"}) {
    Implementations({lost, "cpu/naive", "cpu/openblas", "fake/half"}, lost);
    auto results = Run();
    EXPECT_FALSE(results[lost].is_baseline()) << lost;
    EXPECT_TRUE(results["cpu/openblas"].is_baseline()) << lost;
    EXPECT_FALSE(results["cpu/naive"].is_baseline()) << "comes later in the catalog";
    EXPECT_EQ(results["fake/half"].comparison().baseline(), "cpu/openblas");
    EXPECT_NEAR(results["fake/half"].comparison().speedup(), 0.5, 0.01);
    EXPECT_FALSE(results["cpu/openblas"].has_comparison());
  }
}

TEST_F(CaseDriverTest, WithoutABaselineNoneIsElected) {
  Implementations({"cpu/naive", "cpu/openblas"});
  auto results = Run();
  EXPECT_FALSE(results["cpu/openblas"].is_baseline());
  EXPECT_FALSE(results["cpu/naive"].has_comparison());
}

TEST_F(CaseDriverTest, AnImpossibleTargetEndsWithWhatWasReached) {
  Implementations({"fake/fast"});
  assign_.mutable_policy()->set_target_ratio(1e-9);
  auto results = Run();
  const v1::Result& fast = results["fake/fast"];
  EXPECT_EQ(fast.outcome(), v1::OUTCOME_OK);
  EXPECT_EQ(fast.verdict(), v1::VERDICT_SUSPECT);
  EXPECT_THAT(fast.verdict_reasons(), Contains("NOT_CONVERGED"));
  EXPECT_EQ(fast.device_time().rounds(), 40);
  EXPECT_GT(fast.device_time().low(), 0);
}

TEST_F(CaseDriverTest, ADeadlineBelowAWarmUpIsSkippedWithAReason) {
  Implementations({"fake/fast", "fake/half"});
  SetBudget(0.05);
  auto results = Run();
  for (const auto& [name, result] : results) {
    EXPECT_EQ(result.outcome(), v1::OUTCOME_SKIPPED) << name;
    EXPECT_EQ(result.reason(), "BUDGET") << name;
    EXPECT_FALSE(result.message().empty()) << name;
    EXPECT_EQ(result.device_time().median(), 0);
  }
}

TEST_F(CaseDriverTest, NoRunnerKeepsAnExclusiveDeviceFromTheNext) {
  facts_.exclusive = true;
  assign_.set_more_of_job(true);
  Implementations({"fake/exclusive-a", "fake/exclusive-b"});
  auto results = Run();
  EXPECT_EQ(results["fake/exclusive-a"].outcome(), v1::OUTCOME_OK)
      << results["fake/exclusive-a"].message();
  EXPECT_EQ(results["fake/exclusive-b"].outcome(), v1::OUTCOME_OK)
      << results["fake/exclusive-b"].message();
  EXPECT_THAT(results["fake/exclusive-a"].verdict_reasons(), Contains("GROUPED"));
}

TEST_F(CaseDriverTest, BusySlicesOfTheBoardAreInTheResult) {
  monitor_.busy_siblings_ = 2;
  Implementations({"fake/fast"});
  EXPECT_EQ(Run()["fake/fast"].telemetry().busy_mig_siblings(), 2);
}

TEST_F(CaseDriverTest, TheCalibratedFlushGoesToTheRunners) {
  calibration_.set_flush_bytes(100663296);
  const std::string log = scratch_ + "/../driver-log-" + std::to_string(getpid());
  MakePool({"--log", log});
  Implementations({"fake/fast"});
  Run();
  std::ifstream file(log);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_THAT(text, HasSubstr("\"flushBytes\":\"100663296\""));
  std::filesystem::remove(log);
}

TEST_F(CaseDriverTest, TheDevicesCalibrationDecidesRoofsRegimeAndTheIntervalForHistory) {
  // matmul 64 takes 1 ms: 0.524 GFLOP/s, 49 MB/s.
  (*calibration_.mutable_matmul_flops())["fp32"] = 1e9;
  calibration_.set_copy_bandwidth(1e9);
  calibration_.set_null_kernel_seconds(3e-6);
  calibration_.set_event_floor_seconds(1e-6);
  calibration_.set_between_session_ratio(0.02);
  calibration_.set_canaries(5);
  // An older one, as it stood in the hello: nobody may look at it.
  (*facts_.device.mutable_calibration()->mutable_matmul_flops())["fp32"] = 1e6;
  Implementations({"fake/fast"});
  const v1::Result fast = Run()["fake/fast"];
  EXPECT_NEAR(fast.throughput().roof_flops_ratio(), 0.524, 0.002);
  EXPECT_NEAR(fast.throughput().roof_bandwidth_ratio(), 0.0491, 0.0002);
  EXPECT_EQ(fast.regime(), "compute-bound");
  EXPECT_THAT(fast.regime_reason(), HasSubstr("52 % of the measured arithmetic rate, 5 % of the "
                                              "measured copy bandwidth"));
  EXPECT_EQ(fast.event_floor_seconds(), 1e-6);
  EXPECT_NEAR(fast.device_time().history_high() / fast.device_time().median(), 1.0392, 1e-3);
  // An empty kernel that takes most of it.
  calibration_.set_null_kernel_seconds(0.6e-3);
  EXPECT_EQ(Run()["fake/fast"].regime(), "launch-bound");
}

TEST_F(CaseDriverTest, ARoofIsProofOnAGpuAndAHintOnACpu) {
  (*calibration_.mutable_matmul_flops())["fp32"] = 1e8;
  Implementations({"fake/fast"});
  EXPECT_EQ(Run()["fake/fast"].verdict(), v1::VERDICT_INVALID);
  facts_.device.set_kind("cpu");
  const v1::Result fast = Run()["fake/fast"];
  EXPECT_EQ(fast.verdict(), v1::VERDICT_SUSPECT);
  EXPECT_THAT(fast.verdict_reasons(), ElementsAre("FASTER_THAN_ROOF"));
}

TEST_F(CaseDriverTest, ABurstThatOverrunsTheDeadlineKeepsTheRoundsBeforeIt) {
  SetBudget(2);
  MakePool({"--late-until", "2.5"});
  Implementations({"fake/late-burst"});
  const v1::Result late = Run()["fake/late-burst"];
  EXPECT_EQ(late.outcome(), v1::OUTCOME_OK) << late.reason() << ": " << late.message();
  EXPECT_EQ(late.device_time().rounds(), 3);
  EXPECT_EQ(late.verdict(), v1::VERDICT_SUSPECT);
  EXPECT_THAT(late.verdict_reasons(), IsSupersetOf({"FEW_ROUNDS", "NOT_REVERIFIED"}));
  EXPECT_GT(run_seconds_, 2.4) << "it did overrun";
}

TEST_F(CaseDriverTest, ALaunchThatSynchronizesIsNamedByTheEngineAlsoInAShortCase) {
  SetBudget(2);
  assign_.mutable_policy()->set_target_ratio(0.02);
  Implementations({"fake/synchronizes"});
  const v1::Result result = Run()["fake/synchronizes"];
  EXPECT_EQ(result.outcome(), v1::OUTCOME_TIMED_OUT);
  EXPECT_EQ(result.reason(), "BLOCKER_TIMEOUT");
}

TEST_F(CaseDriverTest, ADeadDeviceEndsTheAttemptAsInfra) {
  monitor_.check_ = absl::UnavailableError("the GPU does not answer: GPU is lost");
  Implementations({"fake/fast", "fake/crash-prepare", "fake/half"});
  auto results = Run();
  EXPECT_FALSE(outcome_.device.ok());
  EXPECT_THAT(outcome_.result.infra_error(), HasSubstr("GPU is lost"));
  EXPECT_EQ(results["fake/crash-prepare"].outcome(), v1::OUTCOME_CRASHED);
  EXPECT_EQ(results["fake/half"].outcome(), v1::OUTCOME_INFRA);
}

TEST_F(CaseDriverTest, CancelledMidwayGivesEveryRow) {
  Implementations({"fake/slow", "fake/fast"});
  std::thread canceller([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    cancel_.Cancel(CancelToken::Why::kRequested);
  });
  auto results = Run();
  canceller.join();
  EXPECT_TRUE(outcome_.result.cancelled());
  EXPECT_EQ(results["fake/slow"].outcome(), v1::OUTCOME_CANCELLED);
  EXPECT_EQ(results["fake/fast"].outcome(), v1::OUTCOME_CANCELLED);
}

TEST_F(CaseDriverTest, ShutdownIsNotTheImplementationsFault) {
  cancel_.Cancel(CancelToken::Why::kShutdown);
  Implementations({"fake/fast"});
  auto results = Run();
  EXPECT_TRUE(outcome_.result.cancelled()) << "handed back";
  EXPECT_EQ(outcome_.result.infra_error(), "");
  EXPECT_EQ(results["fake/fast"].outcome(), v1::OUTCOME_INFRA);
}

TEST_F(CaseDriverTest, RunnersStayForTheNextCaseOfTheJob) {
  assign_.set_more_of_job(true);
  Implementations({"fake/fast"});
  pool_->BeginCase();
  Run();
  const auto kept = pool_->Take("matmul", "fake/fast");
  ASSERT_TRUE(kept.ok());
  // A kept runner has had requests before: its output of that time was taken, its process lives.
  v1::RunnerRequest finish;
  finish.mutable_finish();
  EXPECT_TRUE((*kept)->Call(finish, 5, "finish", nullptr).ok());
}

TEST_F(CaseDriverTest, AnInvalidCaseIsInfraNotAHang) {
  assign_.mutable_case_()->set_size("0");
  DriverContext context;
  context.pool = pool_.get();
  context.monitor = &monitor_;
  context.facts = &facts_;
  context.scratch_dir = scratch_;
  Implementations({"fake/fast"});
  CaseDriver driver(context, assign_, &cancel_, nullptr);
  EXPECT_THAT(driver.Run().result.infra_error(), HasSubstr("not valid"));
}

}  // namespace
}  // namespace kbench
