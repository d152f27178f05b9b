// From results to what is thought of their cell, over a real server and a worker that measures what
// it is told: a slower kernel is measured again and confirmed, explained and cleared; noise and a
// new driver raise nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "kbench/v1/history_service.grpc.pb.h"
#include "proto/support/rpc_status.h"
#include "tests/server/rpc/harness.h"

namespace kbench::server {
namespace {

using kbench::v1::CellState;
using kbench::v1::RegressionState;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kUsual = 1e-3;
constexpr int kLearnt = 5;  // results of a learned baseline, at least

// What the worker measures from now on.
struct Truth {
  double seconds = kUsual;
  std::string code = "old";
  std::string driver = "580.1";
  double clock_hertz = 1.9e9;
};

class RegressionsTest : public ::testing::Test {
 protected:
  RegressionsTest() { Connect(); }

  void Connect() {
    history_ = v1::HistoryService::NewStub(server_.channel());
    worker_ = std::make_unique<FakeWorker>(server_, "w1", FakeDevice("gpu0", "cuda"));
    ASSERT_TRUE(worker_->Welcome().has_value());
  }

  static v1::SubmitJobRequest Job() {
    v1::SubmitJobRequest request = MatmulJob(1, "gpu0");
    request.mutable_spec()->add_implementations("cpu/naive");
    return request;
  }

  v1::AttemptResult Measured(const v1::Assign& assign) const {
    v1::AttemptResult attempt = FakeWorker::GoodResult(assign);
    attempt.clear_artifacts();
    v1::Result& result = *attempt.mutable_results(0);
    result.clear_artifacts();
    result.set_code_digest(truth_.code);
    result.mutable_environment()->set_driver(truth_.driver);
    result.mutable_telemetry()->set_sm_clock_hertz(truth_.clock_hertz);
    result.set_device_cycles(truth_.seconds * truth_.clock_hertz);
    v1::TimeDistribution& time = *result.mutable_device_time();
    time.set_median(truth_.seconds);
    time.set_history_low(truth_.seconds * 0.995);
    time.set_history_high(truth_.seconds * 1.005);
    for (int round = 0; round < 12; ++round) {
      time.add_round_medians(truth_.seconds * (1 + 1e-4 * (round % 3 - 1)));
      time.add_round_numbers(round);
      time.add_round_clocks(truth_.clock_hertz);
    }
    return attempt;
  }

  // The next assignment is measured; whose job it was.
  v1::Job RunNext() {
    const auto assign = worker_->Assign();
    if (!assign.has_value()) {
      ADD_FAILURE() << "nothing to do";
      return {};
    }
    worker_->SendResult(Measured(*assign));
    const auto ack = worker_->Ack();
    EXPECT_TRUE(ack.has_value() && !ack->stale());
    return server_.WaitFor(assign->id().job(), v1::JOB_STATE_SUCCEEDED);
  }

  // A result of the user's own; what is thought of the cell when it is taken up.
  CellState Measure() {
    server_.MustSubmit(Job());
    const v1::Job job = RunNext();
    EXPECT_EQ(job.owner(), "ada");
    return TakenUp(job);
  }
  // One of those that the coordinator asked for.
  CellState Confirm() {
    const v1::Job job = RunNext();
    EXPECT_EQ(job.owner(), "kbench");
    EXPECT_EQ(job.spec().priority_class(), "ci");
    return TakenUp(job);
  }
  CellState Learn() {
    CellState state;
    for (int i = 0; i < kLearnt; ++i) state = Measure();
    return state;
  }

  absl::StatusOr<v1::History> History() {
    grpc::ClientContext context;
    v1::GetHistoryRequest request;
    *request.mutable_cell() = Cell();
    v1::History history;
    const grpc::Status status = history_->GetHistory(&context, request, &history);
    if (!status.ok()) return FromGrpc(status);
    return history;
  }

  // The state once a result of this job stands in the history.
  CellState TakenUp(const v1::Job& job) {
    const std::string id = job.name().substr(job.name().find('/') + 1);
    for (int i = 0; i < 1000; ++i) {
      const auto history = History();
      if (history.ok() && !history->points().empty() &&
          history->points().rbegin()->result().find(id) != std::string::npos) {
        return history->state();
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ADD_FAILURE() << job.name() << " is not in the history of its cell";
    return {};
  }

  static v1::CellKey Cell() {
    v1::CellKey cell;
    cell.set_kernel("matmul");
    cell.set_dtype("fp32");
    cell.set_implementation("cpu/naive");
    cell.set_device("gpu0");
    return cell;
  }

  absl::StatusOr<v1::Cause> Why() {
    grpc::ClientContext context;
    v1::WhyRequest request;
    *request.mutable_cell() = Cell();
    v1::Cause cause;
    const grpc::Status status = history_->Why(&context, request, &cause);
    if (!status.ok()) return FromGrpc(status);
    return cause;
  }

  absl::StatusOr<CellState> Pin(const std::string& result = "") {
    grpc::ClientContext context;
    v1::PinBaselineRequest request;
    *request.mutable_cell() = Cell();
    request.set_result(result);
    CellState state;
    const grpc::Status status = history_->PinBaseline(&context, request, &state);
    if (!status.ok()) return FromGrpc(status);
    return state;
  }

  absl::StatusOr<CellState> Drop() {
    grpc::ClientContext context;
    v1::DropBaselineRequest request;
    *request.mutable_cell() = Cell();
    CellState state;
    const grpc::Status status = history_->DropBaseline(&context, request, &state);
    if (!status.ok()) return FromGrpc(status);
    return state;
  }

  int WithState(const std::string& state) {
    int count = 0;
    grpc::ClientContext context;
    v1::ListJobsResponse jobs;
    EXPECT_TRUE(server_.jobs().ListJobs(&context, {}, &jobs).ok());
    for (const v1::Job& job : jobs.jobs()) {
      count += job.owner() == "kbench" && v1::JobState_Name(job.state()) == "JOB_STATE_" + state;
    }
    return count;
  }
  // Of jobs that the coordinator submitted.
  void WaitUntil(const std::string& state, int count) {
    for (int i = 0; i < 500 && WithState(state) != count; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_EQ(WithState(state), count) << state;
  }

  std::string Metrics() { return server_.server().metrics().Text(); }

  TestServer server_;
  Truth truth_;
  std::unique_ptr<v1::HistoryService::Stub> history_;
  std::unique_ptr<FakeWorker> worker_;
};

TEST_F(RegressionsTest, ASlowerKernelIsConfirmedExplainedAndClearedWhenRestored) {
  EXPECT_EQ(Measure().state(), RegressionState::LEARNING);
  for (int i = 1; i < kLearnt; ++i) Measure();
  EXPECT_EQ(History()->state().state(), RegressionState::NONE);

  truth_ = {.seconds = 1.05 * kUsual, .code = "new"};
  const CellState suspected = Measure();
  EXPECT_EQ(suspected.state(), RegressionState::SUSPECTED);
  EXPECT_NEAR(suspected.change_ratio(), 0.05, 1e-6);
  WaitUntil("QUEUED", 2);  // the third has begun
  EXPECT_EQ(Confirm().state(), RegressionState::SUSPECTED);
  EXPECT_EQ(Confirm().state(), RegressionState::SUSPECTED);
  const CellState confirmed = Confirm();
  EXPECT_EQ(confirmed.state(), RegressionState::CONFIRMED);
  EXPECT_EQ(confirmed.suspect(), suspected.newest());
  EXPECT_EQ(confirmed.confirmations_size(), 3);
  EXPECT_THAT(Metrics(), AllOf(HasSubstr("kbench_regressions_confirmed_total{device=\"gpu0\"} 1\n"),
                               HasSubstr("mode=\"cold\",device=\"gpu0\",state=\"confirmed\"} 1\n"),
                               HasSubstr("state=\"none\"} 0\n")));

  const auto cause = Why();
  ASSERT_TRUE(cause.ok()) << cause.status();
  EXPECT_EQ(cause->verdict(), "KERNEL");
  EXPECT_THAT(cause->sentence(),
              AllOf(HasSubstr("binary old -> new"), HasSubstr("+5.0 % time, +5.0 % cycles")));

  truth_ = {};
  EXPECT_EQ(Measure().state(), RegressionState::CONFIRMED) << "one result is not yet an end";
  EXPECT_EQ(Confirm().state(), RegressionState::NONE);
  EXPECT_THAT(Metrics(), AllOf(HasSubstr("kbench_regressions_cleared_total{device=\"gpu0\"} 1\n"),
                               HasSubstr("kbench_regressions_suspected_total{device=\"gpu0\"} 1\n"),
                               HasSubstr("state=\"confirmed\"} 0\n")));
}

TEST_F(RegressionsTest, AClockIsTheClockAndNotTheKernel) {
  Learn();
  truth_ = {.seconds = 1.061 * kUsual, .clock_hertz = 1.9e9 / 1.059};
  Measure();
  for (int i = 0; i < 3; ++i) Confirm();
  const auto cause = Why();
  ASSERT_TRUE(cause.ok()) << cause.status();
  EXPECT_EQ(cause->verdict(), "CLOCK");
  EXPECT_THAT(cause->sentence(), HasSubstr("clock, not the kernel: +6.1 % time, +0.2 % cycles"));
}

TEST_F(RegressionsTest, AFalseAlarmIsRejectedAndNoTimeIsSpentOnTheRest) {
  Learn();
  truth_.seconds = 1.05 * kUsual;
  EXPECT_EQ(Measure().state(), RegressionState::SUSPECTED);
  truth_.seconds = kUsual;
  EXPECT_EQ(Confirm().state(), RegressionState::NONE);
  // One of the two was assigned as soon as the device was free.
  for (int i = 0; i < 500 && WithState("CANCELLED") < 2; ++i) {
    if (const auto stopped = worker_->CancelRequest(0.01)) {
      v1::AttemptResult attempt;
      *attempt.mutable_id() = stopped->id();
      attempt.set_cancelled(true);
      worker_->SendResult(attempt);
    }
  }
  WaitUntil("CANCELLED", 2);
  EXPECT_THAT(Metrics(),
              AllOf(HasSubstr("kbench_regressions_rejected_total{device=\"gpu0\"} 1\n"),
                    Not(HasSubstr("kbench_regressions_confirmed_total{device=\"gpu0\"} 1"))));
}

TEST_F(RegressionsTest, ASuspicionOutlivesTheCoordinator) {
  Learn();
  truth_.seconds = 1.05 * kUsual;
  Measure();
  WaitUntil("QUEUED", 2);
  Confirm();
  worker_->Disconnect();
  server_.Restart();
  Connect();
  EXPECT_EQ(History()->state().state(), RegressionState::SUSPECTED);
  EXPECT_EQ(History()->points_size(), kLearnt + 2);
  EXPECT_THAT(Metrics(), HasSubstr("device=\"gpu0\",state=\"suspected\"} 1\n"));
  Confirm();
  EXPECT_EQ(Confirm().state(), RegressionState::CONFIRMED);
}

TEST_F(RegressionsTest, AnotherDriverOpensAnEpochAndRaisesNothing) {
  Learn();
  truth_ = {.seconds = 1.2 * kUsual, .driver = "590.2"};
  const CellState state = Measure();
  EXPECT_EQ(state.state(), RegressionState::LEARNING);
  const auto history = History();
  ASSERT_EQ(history->epochs_size(), 2);
  EXPECT_EQ(history->epochs(1).changed(), "driver 580.1 -> 590.2");
  EXPECT_EQ(WithState("QUEUED"), 0);
  EXPECT_THAT(Metrics(), Not(HasSubstr("kbench_regressions_suspected_total{device=\"gpu0\"} 1\n")));

  grpc::ClientContext context;
  v1::CompareEpochsRequest request;
  request.set_device("gpu0");
  v1::EpochReport report;
  ASSERT_TRUE(history_->CompareEpochs(&context, request, &report).ok());
  ASSERT_EQ(report.rows_size(), 1);
  EXPECT_NEAR(report.rows(0).ratio(), 1.2, 1e-6);
  EXPECT_EQ(report.after().changed(), "driver 580.1 -> 590.2");
}

TEST_F(RegressionsTest, AnEnvironmentThatComesBackIsMeasuredAnew) {
  Measure();
  truth_ = {.driver = "590.2"};
  Measure();
  truth_ = {.seconds = 1.3 * kUsual};  // the old driver again
  Measure();
  grpc::ClientContext context;
  v1::CompareEpochsRequest request;
  request.set_device("gpu0");
  v1::EpochReport report;
  ASSERT_TRUE(history_->CompareEpochs(&context, request, &report).ok());
  EXPECT_EQ(report.after().changed(), "driver 590.2 -> 580.1");
  ASSERT_EQ(report.rows_size(), 1);
  EXPECT_NEAR(report.rows(0).ratio(), 1.3, 1e-6) << "not the results of the first time";
}

TEST_F(RegressionsTest, APinDoesNotSilenceWhatIsStillSlower) {
  Measure();
  const std::string good = History()->points(0).result();
  for (int i = 1; i < kLearnt; ++i) Measure();
  truth_.seconds = 1.2 * kUsual;
  Measure();
  for (int i = 0; i < 3; ++i) Confirm();
  const auto pinned = Pin(good);
  ASSERT_TRUE(pinned.ok()) << pinned.status();
  EXPECT_EQ(pinned->state(), RegressionState::SUSPECTED) << pinned->message();
  EXPECT_NEAR(pinned->change_ratio(), 0.2, 1e-6);
  for (int i = 0; i < 2; ++i) Confirm();
  EXPECT_EQ(Confirm().state(), RegressionState::CONFIRMED);
  ASSERT_TRUE(Pin().ok());
  EXPECT_EQ(History()->state().state(), RegressionState::NONE) << "what is slower was accepted";
}

TEST_F(RegressionsTest, WhatNothingWasComparedWithHasNoChange) {
  Learn();
  EXPECT_THAT(Metrics(), HasSubstr("kbench_result_change_ratio{"));
  ASSERT_TRUE(Pin().ok());
  EXPECT_THAT(Metrics(), AllOf(HasSubstr("kbench_result_baseline_duration_seconds{"),
                               Not(HasSubstr("kbench_result_change_ratio{"))));
  Measure();
  EXPECT_THAT(Metrics(), HasSubstr("kbench_result_change_ratio{"));
}

TEST_F(RegressionsTest, APinnedBaselineOfAnotherEnvironmentIsIncomparable) {
  Measure();
  const auto pinned = Pin();
  ASSERT_TRUE(pinned.ok()) << pinned.status();
  EXPECT_EQ(pinned->baseline().origin(), "pinned");
  EXPECT_EQ(pinned->state(), RegressionState::NONE);
  EXPECT_EQ(Measure().state(), RegressionState::NONE);
  truth_ = {.seconds = 1.2 * kUsual, .driver = "590.2"};
  const CellState state = Measure();
  EXPECT_EQ(state.state(), RegressionState::INCOMPARABLE);
  EXPECT_THAT(state.message(), HasSubstr("driver 580.1 -> 590.2"));
  const auto refused = Pin(pinned->baseline().result());
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(refused.status().message(), HasSubstr("pin a newer one"));
  ASSERT_TRUE(Drop().ok());
  EXPECT_EQ(Drop().status().code(), absl::StatusCode::kNotFound);
}

TEST_F(RegressionsTest, WhatIsNotKnownIsToldWithWhatIs) {
  EXPECT_EQ(History().status().code(), absl::StatusCode::kNotFound);
  Measure();
  EXPECT_EQ(Why().status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Pin("results/none-0-0").status().code(), absl::StatusCode::kNotFound);
  grpc::ClientContext context;
  v1::GetHistoryRequest request;
  *request.mutable_cell() = Cell();
  request.mutable_cell()->set_implementation("cpu/nave");
  v1::History history;
  const grpc::Status status = history_->GetHistory(&context, request, &history);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(status.error_message(), HasSubstr("cpu/naive"));
}

// A/A: the same kernel 200 times, its sessions 0.3 % apart.
TEST_F(RegressionsTest, TwoHundredRunsOfTheSameRaiseAtMostOneAlarm) {
  std::mt19937 random(7);
  std::normal_distribution<double> noise(0, 0.003);
  int mine = 0;
  for (int i = 0; i < 200 || mine < 200; ++i) {
    truth_.seconds = kUsual * (1 + noise(random));
    if (WithState("QUEUED") + WithState("RUNNING") == 0) {
      server_.MustSubmit(Job());
      ++mine;
    }
    TakenUp(RunNext());
  }
  const std::string text = Metrics();
  EXPECT_THAT(text, Not(HasSubstr("kbench_regressions_confirmed_total{device=\"gpu0\"} 2")));
  EXPECT_EQ(History()->points_size(), 200) << "the newest are kept";
}

}  // namespace
}  // namespace kbench::server
