// Lending a device over gRPC: what is refused, how a hold is kept, lapses and ends, and what a
// restart leaves of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/support/clock.h"
#include "proto/support/rpc_status.h"
#include "server/rpc/visible.h"
#include "tests/server/rpc/harness.h"

namespace kbench::server {
namespace {

using namespace kbench::v1;  // NOLINT: the states
using ::testing::HasSubstr;

SubmitJobRequest HoldJob(double seconds = 600, bool attached = true) {
  SubmitJobRequest request;
  request.mutable_spec()->set_device("cpu");
  *request.mutable_spec()->mutable_hold()->mutable_duration() = ToDuration(seconds);
  request.mutable_spec()->mutable_hold()->set_attached(attached);
  request.set_owner("ada");
  return request;
}

absl::StatusOr<KeepHoldResponse> Keep(TestServer& server, const std::string& job) {
  grpc::ClientContext context;
  KeepHoldRequest request;
  request.set_name(job);
  KeepHoldResponse response;
  const grpc::Status status = server.jobs().KeepHold(&context, request, &response);
  if (!status.ok()) return FromGrpc(status);
  return response;
}

absl::StatusOr<Job> End(TestServer& server, const std::string& job, int exit_code = 0) {
  grpc::ClientContext context;
  EndHoldRequest request;
  request.set_name(job);
  request.set_exit_code(exit_code);
  Job response;
  const grpc::Status status = server.jobs().EndHold(&context, request, &response);
  if (!status.ok()) return FromGrpc(status);
  return response;
}

// Until the coordinator has taken in what a worker has just said.
KeepHoldResponse KeepSoon(TestServer& server, const std::string& job) {
  absl::StatusOr<KeepHoldResponse> kept;
  for (int i = 0; i < 1000; ++i) {
    kept = Keep(server, job);
    if (kept.ok()) return *kept;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ADD_FAILURE() << kept.status();
  return {};
}

AttemptResult EndOfHold(const AttemptId& id, const std::string& message) {
  AttemptResult result;
  *result.mutable_id() = id;
  result.mutable_hold()->set_message(message);
  return result;
}

// As a call over plain TCP would see it, and one of the owner known by a token.
TEST(Visible, ValuesOfAnEnvironmentAreTheOwnersAndAdmins) {
  Job job;
  job.set_owner("ada");
  (*job.mutable_spec()->mutable_hold()->mutable_environment())["HF_TOKEN"] = "secret";
  const auto seen = [&](const std::string& owner, auth::Role role, bool verified) {
    auth::Caller caller;
    caller.owner = owner;
    caller.role = role;
    caller.verified = verified;
    Job copy = job;
    HideEnvironmentFrom(caller, copy);
    return copy.spec().hold().environment().at("HF_TOKEN");
  };
  EXPECT_EQ(seen("ada", auth::Role::kSubmitter, true), "secret");
  EXPECT_EQ(seen("root", auth::Role::kAdmin, true), "secret");
  EXPECT_EQ(seen("bo", auth::Role::kCode, true), kHiddenValue);
  EXPECT_EQ(seen("bo", auth::Role::kViewer, true), kHiddenValue);
  EXPECT_EQ(seen("ada", auth::Role::kSubmitter, false), kHiddenValue) << "so anybody could say";
  EXPECT_EQ(seen("", auth::Role::kSubmitter, false), kHiddenValue);
}

class HoldsTest : public ::testing::Test {
 protected:
  // A hold that has begun.
  Assign Begin(const SubmitJobRequest& request) {
    job_ = server_.MustSubmit(request).name();
    const auto assign = worker_->Assign();
    EXPECT_TRUE(assign.has_value());
    if (!assign) return {};
    worker_->Beat({HeldOf(assign->id(), false)}, "HELD");
    KeepSoon(server_, job_);
    return *assign;
  }

  static CoordinatorOptions Options() {
    CoordinatorOptions options = TestServer::DefaultOptions();
    options.max_hold_seconds = 3600;
    options.hold_lapse_seconds = 1.5;
    return options;
  }
  void Connect(const std::vector<HeldAttempt>& held = {}) {
    worker_ = std::make_unique<FakeWorker>(server_, "w", FakeDevice("cpu", "cpu"), "boot1", held);
    ASSERT_TRUE(worker_->Welcome().has_value());
  }
  void SetUp() override { Connect(); }

  void ExpectRefused(const SubmitJobRequest& request, const std::string& field,
                     const std::string& part) {
    const absl::StatusOr<Job> job = server_.Submit(request);
    ASSERT_FALSE(job.ok()) << request.ShortDebugString();
    EXPECT_EQ(job.status().code(), absl::StatusCode::kInvalidArgument) << job.status();
    const ErrorDetails details = DetailsOf(job.status());
    ASSERT_EQ(details.violations.size(), 1u);
    EXPECT_EQ(details.violations[0].field, field);
    EXPECT_THAT(details.violations[0].description, HasSubstr(part));
  }

  TestServer server_{Options()};
  std::unique_ptr<FakeWorker> worker_;
  std::string job_;
};

TEST_F(HoldsTest, WhatIsRefused) {
  SubmitJobRequest request = HoldJob(7200);
  ExpectRefused(request, "spec.hold.duration", "at most 1h");
  request = HoldJob(0.5);
  ExpectRefused(request, "spec.hold.duration", "at least 1 s");
  request = HoldJob(-60);
  ExpectRefused(request, "spec.hold.duration", "at least 1 s");
  request = HoldJob();
  request.mutable_spec()->mutable_hold()->mutable_duration()->set_nanos(2'000'000'000);
  ExpectRefused(request, "spec.hold.duration", "at least 1 s");
  request = HoldJob();
  request.mutable_spec()->mutable_hold()->clear_duration();
  ExpectRefused(request, "spec.hold.duration", "at least 1 s");
  request = HoldJob();
  *request.mutable_spec()->add_cases() = MatmulJob().spec().cases(0);
  ExpectRefused(request, "spec.cases", "measures nothing");
  request = HoldJob();
  request.mutable_spec()->add_implementations("all");
  ExpectRefused(request, "spec.implementations", "measures nothing");
  request = HoldJob();
  request.mutable_spec()->mutable_policy()->set_seed(7);
  ExpectRefused(request, "spec.policy", "measures nothing");
  request = HoldJob();
  (*request.mutable_spec()->mutable_hold()->mutable_environment())["A"] = "b";
  ExpectRefused(request, "spec.hold.environment", "there is none");
  request.mutable_spec()->mutable_hold()->add_command("true");
  (*request.mutable_spec()->mutable_hold()->mutable_environment())["CUDA_VISIBLE_DEVICES"] = "1";
  ExpectRefused(request, "spec.hold.environment", "CUDA_VISIBLE_DEVICES");
  request.mutable_spec()->mutable_hold()->clear_environment();
  (*request.mutable_spec()->mutable_hold()->mutable_environment())["A=B"] = "1";
  ExpectRefused(request, "spec.hold.environment", "no variable");
  request.mutable_spec()->mutable_hold()->clear_environment();
  request.mutable_spec()->mutable_hold()->add_command(std::string("a\0b", 3));
  ExpectRefused(request, "spec.hold.command[1]", "NUL");
  request = HoldJob();
  request.mutable_spec()->mutable_hold()->add_command("");
  ExpectRefused(request, "spec.hold.command[0]", "name of a program");
  request.mutable_spec()->mutable_hold()->set_command(0, std::string(100'000, 'x'));
  ExpectRefused(request, "spec.hold.command", "script");
  // The name stands for a hold in the store; nobody can ask for it as a kernel.
  request = MatmulJob();
  request.mutable_spec()->mutable_cases(0)->set_kernel("hold");
  ExpectRefused(request, "spec.cases[0].kernel", "hold");
}

TEST_F(HoldsTest, BeginsWhenTheWorkerSaysSo) {
  const Job job = server_.MustSubmit(HoldJob());
  EXPECT_EQ(job.cases(0).spec().kernel(), "hold");
  EXPECT_EQ(job.cases(0).spec().size(), "10m");
  const auto assign = worker_->Assign();
  ASSERT_TRUE(assign.has_value());
  EXPECT_EQ(ToSeconds(assign->hold().duration()), 600);
  EXPECT_EQ(assign->implementations_size(), 0);
  EXPECT_EQ(DetailsOf(Keep(server_, job.name()).status()).reason, "NOT_HELD");
  worker_->Beat({HeldOf(assign->id(), false)}, "BUSY");
  EXPECT_FALSE(Keep(server_, job.name()).ok()) << "its runners may still be on the device";
  worker_->Beat({HeldOf(assign->id(), false)}, "HELD");
  const KeepHoldResponse kept = KeepSoon(server_, job.name());
  EXPECT_LE(ToSeconds(kept.left()), 600);
  EXPECT_GT(ToSeconds(kept.left()), 500);
  EXPECT_EQ(ToSeconds(kept.lapse_after()), 1.5);
  EXPECT_EQ(server_.Get(job.name())->cases(0).hostname(), "host");
}

TEST_F(HoldsTest, EndsOnceHoweverOftenItIsSaid) {
  const Assign assign = Begin(HoldJob());
  const auto ended = End(server_, job_, 3);
  ASSERT_TRUE(ended.ok()) << ended.status();
  EXPECT_EQ(ended->state(), JOB_STATE_SUCCEEDED);
  EXPECT_EQ(ended->reason(), "HOLD_ENDED");
  EXPECT_EQ(ended->cases(0).exit_code(), 3);
  const auto cancel = worker_->CancelRequest();
  ASSERT_TRUE(cancel.has_value());
  EXPECT_TRUE(cancel->finished());
  const auto again = End(server_, job_, 9);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->cases(0).exit_code(), 3) << "the first word stands";
  EXPECT_EQ(DetailsOf(Keep(server_, job_).status()).reason, "NOT_HELD");
  // The next one gets the device when the worker has let go of it.
  const Job next = server_.MustSubmit(MatmulJob());
  EXPECT_FALSE(worker_->Assign(0.3).has_value());
  worker_->Beat();
  worker_->RunOne();
  server_.WaitFor(next.name(), JOB_STATE_SUCCEEDED);
}

TEST_F(HoldsTest, WhatIsNoHoldOrWaits) {
  EXPECT_EQ(Keep(server_, "jobs/nobody").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(End(server_, "jobs/nobody").status().code(), absl::StatusCode::kNotFound);
  const Job job = server_.MustSubmit(MatmulJob());
  for (const absl::Status& status :
       {Keep(server_, job.name()).status(), End(server_, job.name()).status()}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(DetailsOf(status).reason, "NOT_HELD");
  }
  const Job waiting = server_.MustSubmit(HoldJob());
  EXPECT_EQ(DetailsOf(End(server_, waiting.name()).status()).reason, "NOT_HELD");
  ASSERT_TRUE(server_.Cancel(waiting.name()).ok());
  server_.WaitFor(waiting.name(), JOB_STATE_CANCELLED);
}

TEST_F(HoldsTest, LapsesWithoutItsClient) {
  Begin(HoldJob());
  const Job job = server_.WaitFor(job_, JOB_STATE_SUCCEEDED);
  EXPECT_EQ(job.reason(), "HOLD_LAPSED");
  EXPECT_THAT(job.message(), HasSubstr("has not been heard of"));
  EXPECT_FALSE(job.cases(0).has_exit_code());
  const auto cancel = worker_->CancelRequest();
  ASSERT_TRUE(cancel.has_value());
  EXPECT_TRUE(cancel->finished());
}

TEST_F(HoldsTest, LivesOnWhileItsClientDoes) {
  const Assign assign = Begin(HoldJob());
  for (int i = 0; i < 12; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(250));
    ASSERT_TRUE(Keep(server_, job_).ok());
    worker_->Beat({HeldOf(assign.id(), false)}, "HELD");
  }
}

TEST_F(HoldsTest, DetachedItNeedsNobody) {
  const Assign assign = Begin(HoldJob(600, false));
  std::this_thread::sleep_for(std::chrono::seconds(2));
  EXPECT_EQ(server_.Get(job_)->state(), JOB_STATE_RUNNING);
  EXPECT_FALSE(KeepSoon(server_, job_).has_lapse_after());
  worker_->SendResult(EndOfHold(assign.id(), "held to the end of its time"));
  const Job job = server_.WaitFor(job_, JOB_STATE_SUCCEEDED);
  EXPECT_EQ(job.message(), "held to the end of its time");
}

TEST_F(HoldsTest, CancelledWhileItIsHeld) {
  const Assign assign = Begin(HoldJob());
  ASSERT_TRUE(server_.Cancel(job_).ok());
  const auto cancel = worker_->CancelRequest();
  ASSERT_TRUE(cancel.has_value());
  EXPECT_FALSE(cancel->finished());
  AttemptResult result;
  *result.mutable_id() = assign.id();
  result.set_cancelled(true);
  worker_->SendResult(result);
  server_.WaitFor(job_, JOB_STATE_CANCELLED);
}

TEST_F(HoldsTest, ARestartGrantsTheClientItsTimeAgain) {
  const Assign assign = Begin(HoldJob());
  std::this_thread::sleep_for(std::chrono::seconds(1));
  worker_->Disconnect();
  server_.Restart();
  Connect({HeldOf(assign.id(), false)});
  EXPECT_EQ(server_.Get(job_)->state(), JOB_STATE_RUNNING);
  const KeepHoldResponse kept = KeepSoon(server_, job_);
  EXPECT_LT(ToSeconds(kept.left()), 599.5) << "its own time goes on";
  ASSERT_TRUE(End(server_, job_, 0).ok());
  server_.Restart();
  EXPECT_EQ(server_.Get(job_)->state(), JOB_STATE_SUCCEEDED);
  EXPECT_EQ(server_.Get(job_)->cases(0).exit_code(), 0);
}

TEST_F(HoldsTest, ACommandAtTheWorkerEndsItsHold) {
  SubmitJobRequest request = HoldJob();
  request.mutable_spec()->mutable_hold()->add_command("true");
  const Assign assign = Begin(request);
  EXPECT_EQ(assign.hold().command(0), "true");
  EXPECT_EQ(DetailsOf(End(server_, job_).status()).reason, "HOLD_HAS_COMMAND");
  AttemptResult result = EndOfHold(assign.id(), "true ended with exit code 4");
  result.mutable_hold()->set_exit_code(4);
  Artifact* output = result.add_artifacts();
  output->set_name("stdout.txt");
  output->set_media_type("text/plain");
  output->set_content("hello\n");
  worker_->SendResult(result);
  const Job job = server_.WaitFor(job_, JOB_STATE_SUCCEEDED);
  EXPECT_EQ(job.cases(0).exit_code(), 4);
  grpc::ClientContext context;
  ListArtifactsRequest list;
  list.set_job(job_);
  ListArtifactsResponse artifacts;
  ASSERT_TRUE(server_.results().ListArtifacts(&context, list, &artifacts).ok());
  ASSERT_EQ(artifacts.artifacts_size(), 1);
  EXPECT_THAT(artifacts.artifacts(0).name(), HasSubstr("-0-stdout.txt"));
}

TEST_F(HoldsTest, ALapsedCommandIsCancelled) {
  SubmitJobRequest request = HoldJob();
  request.mutable_spec()->mutable_hold()->add_command("sleep");
  const Assign assign = Begin(request);
  const auto cancel = worker_->CancelRequest();
  ASSERT_TRUE(cancel.has_value());
  EXPECT_FALSE(cancel->finished());
  EXPECT_EQ(server_.Get(job_)->state(), JOB_STATE_RUNNING) << "until what it printed is here";
}

TEST_F(HoldsTest, TheWorkersDeathFailsIt) {
  Begin(HoldJob());
  worker_->Disconnect();
  FakeWorker reborn(server_, "w", FakeDevice("cpu", "cpu"), "boot2");
  ASSERT_TRUE(reborn.Welcome().has_value());
  const Job job = server_.WaitFor(job_, JOB_STATE_FAILED);
  EXPECT_EQ(job.reason(), "INFRA");
  EXPECT_THAT(job.message(), HasSubstr("the hold ended early"));
}

}  // namespace
}  // namespace kbench::server
