#include "worker/daemon/runner_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <ostream>
#include <string>
#include <thread>

namespace kbench {
namespace {

using testing::HasSubstr;

v1::RunnerRequest PrepareRequest(const std::string& implementation) {
  v1::RunnerRequest request;
  request.mutable_prepare()->set_implementation(implementation);
  request.mutable_prepare()->set_launch_limit_seconds(1);
  request.mutable_prepare()->set_reference_dir(testing::TempDir());
  return request;
}

v1::RunnerRequest BurstRequest(int samples) {
  v1::RunnerRequest request;
  request.mutable_burst()->set_samples(samples);
  return request;
}

std::unique_ptr<RunnerProcess> StartFake() {
  auto runner = RunnerProcess::Start({KBENCH_FAKE_RUNNER, {}, {}});
  EXPECT_TRUE(runner.ok()) << runner.status();
  return *std::move(runner);
}

// Prepared with the implementation and asked for one burst.
Expected<v1::RunnerReply, RunnerError> OneBurst(RunnerProcess& runner, const std::string& name,
                                                double seconds = 10) {
  auto prepared = runner.Call(PrepareRequest(name), 10, "prepare", nullptr);
  EXPECT_TRUE(prepared.ok());
  return runner.Call(BurstRequest(4), seconds, "measure", nullptr);
}

TEST(RunnerProcess, AnswersInTurn) {
  const auto runner = StartFake();
  v1::RunnerRequest hello;
  hello.mutable_hello();
  const auto reply = runner->Call(hello, 10, "hello", nullptr);
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(reply->hello().device_kind(), "cpu");
  const auto burst = OneBurst(*runner, "fake/fast");
  ASSERT_TRUE(burst.ok());
  EXPECT_EQ(burst->burst().device_seconds_size(), 4);
  EXPECT_THAT(runner->TakeOutput(), HasSubstr("prepared"));
  EXPECT_EQ(runner->TakeOutput(), "");
  EXPECT_TRUE(runner->alive());
}

struct Fault {
  std::string name;
  v1::Outcome outcome;
  std::string reason;
  std::string message_part;
};
void PrintTo(const Fault& fault, std::ostream* out) { *out << fault.name; }

class RunnerFaults : public testing::TestWithParam<Fault> {};

TEST_P(RunnerFaults, AreOutcomesAndTheProcessIsGone) {
  const Fault& fault = GetParam();
  const auto runner = StartFake();
  const int pid = runner->pid();
  const auto reply = OneBurst(*runner, fault.name, 1);
  ASSERT_FALSE(reply.ok());
  EXPECT_EQ(reply.error().outcome, fault.outcome) << reply.error().message;
  EXPECT_EQ(reply.error().reason, fault.reason) << reply.error().message;
  EXPECT_THAT(reply.error().message, HasSubstr(fault.message_part));
  EXPECT_EQ(reply.error().message.find('\n'), std::string::npos);
  EXPECT_TRUE(reply.error().lost);
  EXPECT_FALSE(runner->alive());
  EXPECT_NE(kill(pid, 0), 0) << "the process must be reaped";
  // Later calls fail at once instead of hanging.
  const auto again = runner->Call(BurstRequest(1), 10, "measure", nullptr);
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().outcome, v1::OUTCOME_INFRA);
}

INSTANTIATE_TEST_SUITE_P(
    All, RunnerFaults,
    testing::Values(
        Fault{"fake/crash", v1::OUTCOME_CRASHED, "SIGABRT", "during measure"},
        Fault{"fake/exit", v1::OUTCOME_CRASHED, "EXITED", "exit code 3"},
        Fault{"fake/hang", v1::OUTCOME_TIMED_OUT, "MEASURE_TIMEOUT", "within 1 s during measure"},
        Fault{"fake/late-half-frame", v1::OUTCOME_TIMED_OUT, "MEASURE_TIMEOUT", "no answer"},
        Fault{"fake/bad-frame", v1::OUTCOME_CRASHED, "BAD_FRAME", "not a frame"},
        Fault{"fake/huge-frame", v1::OUTCOME_CRASHED, "FRAME_TOO_LARGE", "1 MiB"},
        Fault{"fake/nan-frame", v1::OUTCOME_CRASHED, "BAD_FRAME", "during measure"},
        Fault{"fake/wrong-id", v1::OUTCOME_CRASHED, "WRONG_ID", "instead of"},
        Fault{"fake/wrong-kind", v1::OUTCOME_CRASHED, "BAD_FRAME", "answered with finished"},
        Fault{"fake/close", v1::OUTCOME_CRASHED, "CLOSED_PIPE", "closed its pipe"},
        Fault{"fake/fatal", v1::OUTCOME_CRASHED, "DEVICE_FAULT", "scripted"}));

TEST(RunnerProcess, AFailureThatIsNotFatalLeavesTheProcessSound) {
  const auto runner = StartFake();
  const auto reply = runner->Call(PrepareRequest("fake/oom"), 10, "prepare", nullptr);
  ASSERT_FALSE(reply.ok());
  EXPECT_EQ(reply.error().outcome, v1::OUTCOME_OUT_OF_MEMORY);
  EXPECT_FALSE(reply.error().lost);
  EXPECT_TRUE(OneBurst(*runner, "fake/fast").ok());
}

TEST(RunnerProcess, AFloodOnStderrNeitherBlocksNorGrows) {
  const auto runner = StartFake();
  ASSERT_TRUE(OneBurst(*runner, "fake/flood").ok());
  const std::string output = runner->TakeOutput();
  EXPECT_THAT(output, HasSubstr("bytes left out"));
  EXPECT_GT(output.size(), 60u * 1024);
  EXPECT_LT(output.size(), 70u * 1024);
}

TEST(RunnerProcess, CancelWakesTheWait) {
  const auto runner = StartFake();
  ASSERT_TRUE(runner->Call(PrepareRequest("fake/hang"), 10, "prepare", nullptr).ok());
  CancelToken cancel;
  std::thread canceller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    cancel.Cancel(CancelToken::Why::kRequested);
  });
  const auto begin = std::chrono::steady_clock::now();
  const auto reply = runner->Call(BurstRequest(1), 60, "measure", &cancel);
  canceller.join();
  ASSERT_FALSE(reply.ok());
  EXPECT_EQ(reply.error().outcome, v1::OUTCOME_CANCELLED);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

TEST(RunnerProcess, KilledFromOutsideIsACrashThatNamesTheSignal) {
  const auto runner = StartFake();
  ASSERT_TRUE(runner->Call(PrepareRequest("fake/fast"), 10, "prepare", nullptr).ok());
  kill(runner->pid(), SIGKILL);
  const auto reply = runner->Call(BurstRequest(1), 10, "measure", nullptr);
  ASSERT_FALSE(reply.ok());
  EXPECT_EQ(reply.error().outcome, v1::OUTCOME_CRASHED);
  EXPECT_EQ(reply.error().reason, "SIGKILL");
}

TEST(RunnerProcess, AProgramThatIsNotThereIsAnError) {
  const auto runner = RunnerProcess::Start({"/nonexistent/runner", {}, {}});
  EXPECT_FALSE(runner.ok());
  EXPECT_THAT(std::string(runner.status().message()), HasSubstr("/nonexistent/runner"));
}

}  // namespace
}  // namespace kbench
