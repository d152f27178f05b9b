// CaseExecutor: the calibration at the start, canaries while idle, the gap between cases.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "proto/support/clock.h"
#include "tests/worker/daemon/fake_python.h"
#include "tests/worker/daemon/quiet_monitor.h"
#include "worker/daemon/attempt_runner.h"
#include "worker/daemon/attempts.h"

namespace kbench {
namespace {

using testing::HasSubstr;

class ExecutorTest : public testing::Test {
 protected:
  void SetUp() override {
    dir_ = testing::TempDir() + "/executor-" + std::to_string(getpid());
    std::filesystem::create_directories(dir_ + "/scratch");
    facts_.device.set_kind("cpu");
    facts_.key = "cpu:0";
  }
  void TearDown() override {
    executor_.reset();
    pool_.reset();
    std::filesystem::remove_all(dir_);
  }

  void Make(std::vector<std::string> args = {}) {
    executor_.reset();
    RunnerPool::Options options;
    options.runners = {{KBENCH_FAKE_RUNNER, std::move(args), {}}};
    options.runners.insert(options.runners.end(), pythons_.begin(), pythons_.end());
    options.device_kind = "cpu";
    options.spares = 1;
    options.refill_at_once = false;
    auto pool = RunnerPool::Create(options);
    ASSERT_TRUE(pool.ok()) << pool.status();
    pool_ = *std::move(pool);
    ExecutorOptions executor;
    executor.context.pool = pool_.get();
    executor.context.monitor = &monitor_;
    executor.context.facts = &facts_;
    executor.context.device_name = "cpu";
    executor.context.scratch_dir = dir_ + "/scratch";
    executor.condition = &condition_;
    executor.store_path = dir_ + "/calibration.json";
    executor.canaries = canaries_;
    executor.idle_seconds = idle_seconds_;
    executor_ = std::make_unique<CaseExecutor>(executor);
  }
  static v1::Assign Case(std::int64_t epoch, bool more) {
    v1::Assign assign;
    assign.mutable_id()->set_job("jobs/a");
    assign.mutable_id()->set_epoch(epoch);
    assign.mutable_case_()->set_kernel("matmul");
    assign.mutable_case_()->set_dtype("fp32");
    assign.mutable_case_()->set_size("64");
    assign.add_implementations("fake/fast");
    assign.set_more_of_job(more);
    return assign;
  }

  std::string dir_;
  QuietMonitor monitor_;
  DeviceFacts facts_;
  std::vector<RunnerSpec> pythons_;
  bool canaries_ = true;
  double idle_seconds_ = 0.05;
  DeviceCondition condition_;
  std::unique_ptr<RunnerPool> pool_;
  std::unique_ptr<CaseExecutor> executor_;
  CancelToken cancel_;
};

TEST_F(ExecutorTest, WaitsForPythonRunnersAndTellsWhatTheyOffer) {
  const FakePythons pythons("executor-python");
  pythons_ = {pythons.Spec("slow"), pythons.Spec("absent", "old")};
  Make();
  condition_.SetOffer(OfferOf(*pool_));
  const DeviceCondition::Snapshot before = condition_.Get();
  EXPECT_EQ(before.state, "CALIBRATING");
  EXPECT_EQ(before.message, "waits for Python runners to start: torch (default), torch (old)");
  executor_->Gather(cancel_);
  const DeviceCondition::Snapshot after = condition_.Get();
  EXPECT_EQ(after.message, "");
  EXPECT_EQ(after.offer.implementations_size(), before.offer.implementations_size() + 8);
  ASSERT_EQ(after.offer.absent_size(), 1);
  EXPECT_EQ(after.offer.absent(0).environment(), "old");
  executor_->Begin(cancel_);
  EXPECT_EQ(condition_.Get().state, "READY") << condition_.Get().message;
}

TEST_F(ExecutorTest, CalibratesOnceADayAndTellsTheResults) {
  EXPECT_EQ(condition_.Get().state, "CALIBRATING");
  Make();
  executor_->Begin(cancel_);
  EXPECT_EQ(condition_.Get().state, "READY") << condition_.Get().message;
  EXPECT_EQ(condition_.Get().calibration.canaries(), 0);
  EXPECT_EQ(condition_.Get().calibration.between_session_ratio(), 0.003) << "the prior";
  const auto outcome = executor_->Run(Case(1, true), cancel_, nullptr);
  executor_->Settle();
  ASSERT_EQ(outcome.result.results_size(), 1);
  EXPECT_EQ(outcome.result.results(0).event_floor_seconds(), 1.28e-6);
  EXPECT_EQ(outcome.result.results(0).null_kernel_seconds(), 3.3e-6);
  EXPECT_EQ(outcome.result.gap_seconds(), 0) << "nothing went before it";
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const auto next = executor_->Run(Case(2, false), cancel_, nullptr);
  executor_->Settle();
  EXPECT_GT(next.result.gap_seconds(), 0.05);
  EXPECT_LT(next.result.gap_seconds(), 5);
  // A restart: a runner that cannot calibrate is not asked.
  Make({"--calibration", "crash"});
  executor_->Begin(cancel_);
  EXPECT_EQ(condition_.Get().state, "READY");
}

TEST_F(ExecutorTest, ADeviceThatFailsSaysWhereAndIsAskedAgainLater) {
  Make({"--calibration", "fail"});
  executor_->Begin(cancel_);
  EXPECT_EQ(condition_.Get().state, "FAILED");
  EXPECT_EQ(condition_.Get().message,
            "calibration failed at known-durations: a kernel of 5 us was measured as 9 us");
  EXPECT_GT(executor_->IdleWorkIn(1000), 50) << "a minute later";
  Make();  // a failed one is never reused
  executor_->Begin(cancel_);
  EXPECT_EQ(condition_.Get().state, "READY");
}

TEST_F(ExecutorTest, CanariesFlyWhileIdleAndSurviveARestart) {
  Make();
  executor_->Begin(cancel_);
  EXPECT_GT(executor_->IdleWorkIn(0), 0) << "not at once";
  for (int i = 1; i <= 5; ++i) {
    EXPECT_EQ(executor_->IdleWorkIn(0.05), 0);
    executor_->Idle(cancel_);
    EXPECT_EQ(condition_.Get().calibration.canaries(), i);
  }
  EXPECT_EQ(condition_.Get().calibration.between_session_ratio(), 0.003)
      << "the scripted times do not move, but five sessions do not show that";
  EXPECT_GT(executor_->IdleWorkIn(1e6), 3500) << "then one an hour";
  Make();
  executor_->Begin(cancel_);
  EXPECT_EQ(condition_.Get().calibration.canaries(), 5);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(executor_->IdleWorkIn(0.05), 0) << "after a start three are flown at once";
    executor_->Idle(cancel_);
  }
  EXPECT_EQ(condition_.Get().canary.count(), 3);
  EXPECT_GT(executor_->IdleWorkIn(1e6), 3500);
}

TEST_F(ExecutorTest, ADriftingCanaryMarksResultsUntilItIsBack) {
  const std::string factor = dir_ + "/factor";
  Make({"--sum-factor", factor});
  executor_->Begin(cancel_);
  const auto verdict = [&] {
    const auto result = executor_->Run(Case(1, false), cancel_, nullptr).result.results(0);
    executor_->Settle();
    return result.verdict_reasons_size() > 0 &&
           result.verdict_reasons().end()[-1] == "CANARY_DRIFT";
  };
  for (int i = 0; i < 6; ++i) executor_->Idle(cancel_);
  EXPECT_FALSE(condition_.Get().canary.drifting());
  EXPECT_NEAR(condition_.Get().canary.ratio(), 1, 1e-3);
  EXPECT_FALSE(verdict());
  std::ofstream(factor) << "1.3";
  executor_->Idle(cancel_);
  EXPECT_TRUE(condition_.Get().canary.drifting());
  EXPECT_THAT(condition_.Get().canary.message(), HasSubstr("30.0 % longer"));
  EXPECT_TRUE(condition_.Get().faults.empty()) << "a warning, no fault";
  EXPECT_TRUE(verdict());
  const double wait = executor_->IdleWorkIn(1e6);
  EXPECT_GT(wait, 500);
  EXPECT_LT(wait, 601) << "sooner than in an hour";
  // A restart forgets nothing of it.
  Make({"--sum-factor", factor});
  executor_->Begin(cancel_);
  EXPECT_TRUE(verdict());
  std::ofstream(factor) << "1";
  executor_->Idle(cancel_);
  EXPECT_FALSE(condition_.Get().canary.drifting());
  EXPECT_FALSE(verdict());
}

TEST_F(ExecutorTest, ACanaryThatComputesWronglyIsAFaultAndThreeGoodOnesFollowAtOnce) {
  const std::string factor = dir_ + "/factor";
  Make({"--sum-factor", factor});
  executor_->Begin(cancel_);
  for (int i = 0; i < 5; ++i) executor_->Idle(cancel_);
  EXPECT_GT(executor_->IdleWorkIn(1e6), 3500);
  const std::int64_t count = condition_.Get().canary.count();
  std::ofstream(factor) << "wrong";
  executor_->Idle(cancel_);
  ASSERT_EQ(condition_.Get().faults.size(), 1u);
  EXPECT_EQ(condition_.Get().faults[0].kind(), "WRONG_RESULTS");
  EXPECT_EQ(condition_.Get().faults[0].number(), 1);
  EXPECT_THAT(condition_.Get().faults[0].message(), HasSubstr("sum in fp32 with cpu/naive computed "
                                                              "wrongly: relative error 5.00e-01"));
  EXPECT_EQ(condition_.Get().canary.count(), count) << "not one that came back right";
  std::ofstream(factor) << "1";
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(executor_->IdleWorkIn(0.05), 0);
    executor_->Idle(cancel_);
  }
  EXPECT_EQ(condition_.Get().canary.count(), count + 3);
  EXPECT_GT(executor_->IdleWorkIn(1e6), 3500);
}

TEST_F(ExecutorTest, ADeviceThatComputesWronglyFailsItsCalibration) {
  Make({"--wrong-matmul"});
  executor_->Begin(cancel_);
  EXPECT_EQ(condition_.Get().state, "FAILED");
  EXPECT_THAT(condition_.Get().message, HasSubstr("calibration failed at results: matmul in fp32"));
  ASSERT_EQ(condition_.Get().faults.size(), 1u);
  EXPECT_EQ(condition_.Get().faults[0].kind(), "WRONG_RESULTS");
}

TEST_F(ExecutorTest, NothingIsFlownWhileTheDriverDoesNotFit) {
  Make();
  executor_->Begin(cancel_);
  condition_.SetMismatch("570 and 580");
  EXPECT_EQ(condition_.Get().state, "OFFLINE");
  EXPECT_EQ(condition_.Get().reason, "DRIVER_MISMATCH");
  EXPECT_GT(executor_->IdleWorkIn(1e6), 10);
  condition_.SetMismatch("");
  EXPECT_EQ(condition_.Get().state, "READY");
  EXPECT_EQ(executor_->IdleWorkIn(1e6), 0);
}

TEST_F(ExecutorTest, ACaseIsJudgedByWhatTheLatestCanaryLeft) {
  Make();
  executor_->Begin(cancel_);
  const auto history = [&] {
    const auto result = executor_->Run(Case(1, false), cancel_, nullptr).result.results(0);
    executor_->Settle();
    EXPECT_GT(result.throughput().roof_flops_ratio(), 0) << "the roof of the calibration";
    return result.device_time().history_high() / result.device_time().median() - 1;
  };
  EXPECT_GT(history(), 1.9 * 0.003) << "assumed";
  for (int i = 0; i < 20; ++i) executor_->Idle(cancel_);
  EXPECT_LT(history(), 1.9 * 0.003) << "measured: the scripted times do not move";
}

TEST_F(ExecutorTest, NoCanaryFliesWhereOthersComputeOrNobodyWantsThem) {
  Make();
  executor_->Begin(cancel_);
  monitor_.foreign_ = {{77, "ann", "python", 0.5}};
  executor_->Idle(cancel_);
  EXPECT_EQ(condition_.Get().calibration.canaries(), 0);
  canaries_ = false;
  Make();
  executor_->Begin(cancel_);
  EXPECT_TRUE(std::isinf(executor_->IdleWorkIn(1e6)));
}

TEST_F(ExecutorTest, AnAssignmentEndsACanaryAtOnce) {
  const std::string log = dir_ + "/requests";
  Make({"--sum-burst-seconds", "60", "--log", log});
  auto spool = Spool::Open(dir_ + "/spool");
  ASSERT_TRUE(spool.ok());
  Attempts attempts(executor_.get(), spool->get());
  // The calibration measures matmul; the canary's sum hangs in its first burst.
  const auto requests = [&] {
    std::ifstream file(log);
    return std::string{std::istreambuf_iterator<char>(file), {}};
  };
  std::string text = requests();
  for (auto sum = text.npos;
       (sum = text.find("\"sum\"")) == text.npos || text.find("\"burst\"", sum) == text.npos;
       text = requests()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(condition_.Get().state, "READY");
  EXPECT_FALSE(attempts.busy());
  const double begin = SystemClock().SteadySeconds();
  auto assign = Case(7, false);
  assign.mutable_case_()->set_size("0");  // ends at once
  attempts.Assign(assign);
  while (attempts.busy()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_LT(SystemClock().SteadySeconds() - begin, 10) << "a canary's burst alone takes a minute";
  EXPECT_EQ(condition_.Get().calibration.canaries(), 0);
}

}  // namespace
}  // namespace kbench
