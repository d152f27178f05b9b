// A hold at the worker: how long it lasts, what ends it, and that nothing of its command is left.
#include "worker/daemon/hold_driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <thread>

#include "tests/worker/daemon/quiet_monitor.h"

namespace kbench {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// What init has not reaped yet is dead all the same.
bool Alive(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto end = text.rfind(')');
  return end != std::string::npos && text[end + 2] != 'Z';
}

class HoldDriverTest : public ::testing::Test {
 protected:
  void SetUp() override {
    dir_ = std::filesystem::canonical(testing::TempDir()).string() + "/hold-" +
           std::to_string(getpid());
    std::filesystem::create_directories(dir_);
    facts_.device.set_kind("cpu");
    assign_.mutable_id()->set_job("jobs/k3f9x2ab");
    *assign_.mutable_hold()->mutable_duration() = ToDuration(60);
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }

  void Shell(const std::string& script) {
    for (const std::string word : {"sh", "-c"}) assign_.mutable_hold()->add_command(word);
    assign_.mutable_hold()->add_command(script);
  }

  AttemptOutcome Run(double cancel_after = -1,
                     CancelToken::Why why = CancelToken::Why::kRequested) {
    DriverContext context;
    context.monitor = &monitor_;
    context.facts = &facts_;
    context.device_name = "cpu";
    context.scratch_dir = dir_;
    CancelToken cancel;
    std::thread canceller([&] {
      if (cancel_after < 0) return;
      std::this_thread::sleep_for(std::chrono::duration<double>(cancel_after));
      cancel.Cancel(why);
    });
    const double start = SystemClock().SteadySeconds();
    AttemptOutcome outcome =
        HoldDriver(
            context, KBENCH_WORKER, assign_, &cancel,
            [this](const v1::Progress& progress) { said_.push_back(progress); }, times_)
            .Run();
    seconds_ = SystemClock().SteadySeconds() - start;
    canceller.join();
    return outcome;
  }

  static std::string Output(const AttemptOutcome& outcome, const std::string& name) {
    for (const auto& artifact : outcome.result.artifacts()) {
      if (artifact.name() == name) return artifact.content();
    }
    return "";
  }

  std::string dir_;
  QuietMonitor monitor_;
  DeviceFacts facts_;
  v1::Assign assign_;
  HoldTimes times_{1, 0.5, 0.2};
  std::vector<v1::Progress> said_;
  double seconds_ = 0;
};

TEST_F(HoldDriverTest, LastsItsTime) {
  *assign_.mutable_hold()->mutable_duration() = ToDuration(1);
  const AttemptOutcome outcome = Run();
  EXPECT_GE(seconds_, 1);
  EXPECT_TRUE(outcome.result.has_hold());
  EXPECT_FALSE(outcome.result.hold().has_exit_code());
  EXPECT_THAT(outcome.result.hold().message(), HasSubstr("end of its time"));
  EXPECT_GE(outcome.result.phase_seconds().at("hold"), 1);
  ASSERT_FALSE(said_.empty());
  EXPECT_EQ(said_.front().phase(), "hold");
  EXPECT_THAT(said_.front().message(), StartsWith("held, "));
}

TEST_F(HoldDriverTest, AnAttachedClientHasTimeToEndItsOwnCommand) {
  *assign_.mutable_hold()->mutable_duration() = ToDuration(0.5);
  assign_.mutable_hold()->set_attached(true);
  EXPECT_TRUE(Run().result.has_hold());
  EXPECT_GE(seconds_, 2) << "its time, the grace, and a moment for EndHold";
}

TEST_F(HoldDriverTest, IsCancelled) {
  const AttemptOutcome outcome = Run(0.3);
  EXPECT_TRUE(outcome.result.cancelled());
  EXPECT_FALSE(outcome.result.has_hold());
  EXPECT_LT(seconds_, 30);
}

TEST_F(HoldDriverTest, AShutdownIsAFaultOfOurs) {
  EXPECT_EQ(Run(0.3, CancelToken::Why::kShutdown).result.infra_error(), "worker is shutting down");
}

TEST_F(HoldDriverTest, ADeviceThatDoesNotAnswerAfterwardsIsTold) {
  monitor_.check_ = absl::UnavailableError("wedged");
  EXPECT_FALSE(Run(0.1).device.ok());
}

TEST_F(HoldDriverTest, ACommandAndWhatItPrints) {
  Shell("echo out; echo err >&2; exit 3");
  const AttemptOutcome outcome = Run();
  EXPECT_EQ(outcome.result.hold().exit_code(), 3);
  EXPECT_EQ(Output(outcome, "stdout.txt"), "out\n");
  EXPECT_EQ(Output(outcome, "stderr.txt"), "err\n");
  EXPECT_FALSE(outcome.result.cancelled());
}

TEST_F(HoldDriverTest, ItsEnvironmentIsMinimal) {
  setenv("KBENCH_TEST_SECRET", "mine", 1);
  setenv("LD_SOMETHING", "x", 1);
  (*assign_.mutable_hold()->mutable_environment())["GREETING"] = "hello world";
  facts_.cpus = {0};
  Shell("env; pwd");
  std::istringstream lines(Output(Run(), "stdout.txt"));
  std::map<std::string, std::string> variables;
  std::string last;
  for (std::string line; std::getline(lines, line); last = line) {
    if (const auto equals = line.find('='); equals != std::string::npos) {
      variables[line.substr(0, equals)] = line.substr(equals + 1);
    }
  }
  EXPECT_EQ(variables["GREETING"], "hello world");
  EXPECT_EQ(variables["CUDA_VISIBLE_DEVICES"], "");
  EXPECT_EQ(variables.count("CUDA_VISIBLE_DEVICES"), 1u);
  EXPECT_EQ(variables["KBENCH_JOB"], "k3f9x2ab");
  EXPECT_EQ(variables["KBENCH_DEVICE"], "cpu");
  EXPECT_EQ(variables["KBENCH_CPUS"], "0");
  EXPECT_EQ(variables.count("KBENCH_TEST_SECRET") + variables.count("LD_SOMETHING"), 0u);
  EXPECT_EQ(last, dir_ + "/hold-k3f9x2ab");
  EXPECT_FALSE(std::filesystem::exists(last)) << "its folder goes with it";
}

TEST_F(HoldDriverTest, AGpuIsTheOneThatItSees) {
  facts_.device.set_kind("cuda");
  facts_.runner_env = {{"CUDA_VISIBLE_DEVICES", "GPU-1"}, {"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}};
  Shell("echo $CUDA_VISIBLE_DEVICES $CUDA_DEVICE_ORDER");
  EXPECT_EQ(Output(Run(), "stdout.txt"), "GPU-1 PCI_BUS_ID\n");
}

TEST_F(HoldDriverTest, AMissingProgramHasACodeOfItsOwn) {
  assign_.mutable_hold()->add_command("no-such-program");
  const AttemptOutcome outcome = Run();
  EXPECT_EQ(outcome.result.hold().exit_code(), 127);
  EXPECT_THAT(Output(outcome, "stderr.txt"), HasSubstr("no-such-program"));
}

TEST_F(HoldDriverTest, TimeOverKillsAllOfIt) {
  *assign_.mutable_hold()->mutable_duration() = ToDuration(1);
  Shell("trap '' TERM; setsid sleep 61 & echo $!; sleep 62 & echo $!; while :; do sleep 1; done");
  const AttemptOutcome outcome = Run();
  EXPECT_EQ(outcome.result.hold().exit_code(), 137);
  EXPECT_THAT(outcome.result.hold().message(), HasSubstr("its time was over"));
  std::istringstream pids(Output(outcome, "stdout.txt"));
  int seen = 0;
  for (int pid = 0; pids >> pid; ++seen) EXPECT_FALSE(Alive(pid)) << pid;
  EXPECT_EQ(seen, 2);
}

TEST_F(HoldDriverTest, WhatACommandLeavesBehindEndsWithIt) {
  Shell("setsid sleep 63 & echo $!");
  const AttemptOutcome outcome = Run();
  EXPECT_EQ(outcome.result.hold().exit_code(), 0);
  EXPECT_FALSE(Alive(std::stoi(Output(outcome, "stdout.txt"))));
  EXPECT_LT(seconds_, 30);
}

TEST_F(HoldDriverTest, ACancelledCommandLeavesItsOutput) {
  Shell("echo begun; exec sleep 64");
  const AttemptOutcome outcome = Run(0.7);
  EXPECT_TRUE(outcome.result.cancelled());
  EXPECT_EQ(Output(outcome, "stdout.txt"), "begun\n");
}

TEST_F(HoldDriverTest, AFloodIsCappedAndStopsNobody) {
  Shell("yes 0123456789 | head -c 8000000; exit 5");
  const AttemptOutcome outcome = Run();
  EXPECT_EQ(outcome.result.hold().exit_code(), 5);
  const std::string output = Output(outcome, "stdout.txt");
  EXPECT_LT(output.size(), 1'100'000u);
  EXPECT_THAT(output, HasSubstr("bytes left out"));
}

TEST_F(HoldDriverTest, TheLatestLineIsTold) {
  Shell("printf 'one\\nstep 17\\033[1m\\377'; sleep 2");
  Run();
  ASSERT_FALSE(said_.empty());
  EXPECT_THAT(said_.back().message(), HasSubstr("left: step 17 [1m"));
}

}  // namespace
}  // namespace kbench
