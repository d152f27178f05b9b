// The real kbench-worker against a coordinator in this process and the scripted runner.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "proto/support/process.h"
#include "tests/worker/daemon/fake_coordinator.h"
#include "tests/worker/daemon/fake_python.h"

namespace kbench {
namespace {

using testing::HasSubstr;

class ProgramTest : public testing::Test {
 protected:
  void SetUp() override {
    dir_ = testing::TempDir() + "/program-" + std::to_string(getpid());
    std::filesystem::create_directories(dir_ + "/locks");
    coordinator_ = std::make_unique<FakeCoordinator>(dir_ + "/c.sock");
  }
  void TearDown() override {
    for (Process& process : running_) {
      KillProcessGroup(process, 0);
      close(process.pidfd);
    }
    coordinator_.reset();
    std::filesystem::remove_all(dir_);
  }

  // `scripted`: with the scripted runner of a CPU.
  Process Start(std::vector<std::string> args, const std::string& log = "log",
                bool scripted = true) {
    const int fd = open((dir_ + "/" + log).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ProcessSpec spec;
    spec.argv = {
        KBENCH_WORKER, "--server", "unix:" + dir_ + "/c.sock", "--data-dir", dir_ + "/data",
        "--spares",    "1"};
    if (scripted) spec.argv.insert(spec.argv.end(), {"--runner", KBENCH_FAKE_RUNNER});
    spec.argv.insert(spec.argv.end(), args.begin(), args.end());
    spec.env = {{"KBENCH_LOCK_DIR", dir_ + "/locks"}};
    spec.env.insert(env_.begin(), env_.end());
    spec.descriptors = {-1, fd, fd};
    const auto process = Spawn(spec);
    close(fd);
    EXPECT_TRUE(process.ok()) << process.status();
    running_.push_back(*process);
    return *process;
  }
  std::string Log(const std::string& log = "log") {
    std::stringstream text;
    text << std::ifstream(dir_ + "/" + log).rdbuf();
    return text.str();
  }
  bool WaitForHello() {
    return coordinator_->WaitFor([](const std::vector<v1::WorkerMessage>& messages) {
      return !messages.empty() && messages.back().has_heartbeat();
    });
  }

  std::string dir_;
  std::map<std::string, std::string> env_;
  std::unique_ptr<FakeCoordinator> coordinator_;
  std::vector<Process> running_;
};

TEST_F(ProgramTest, ServesACaseAndEndsOnSigterm) {
  const Process worker = Start({"--device", "cpu:0", "--name", "test-cpu"});
  ASSERT_TRUE(WaitForHello()) << Log();
  const auto hello = coordinator_->received()[0].hello();
  EXPECT_EQ(hello.device().name(), "test-cpu");
  EXPECT_EQ(hello.device().kind(), "cpu");
  EXPECT_THAT(hello.worker_id(), HasSubstr("/cpu:0"));
  EXPECT_GT(hello.device().implementations_size(), 3);

  v1::CoordinatorMessage message;
  v1::Assign& assign = *message.mutable_assign();
  assign.mutable_id()->set_job("jobs/real");
  assign.mutable_id()->set_epoch(5);
  assign.mutable_case_()->set_kernel("matmul");
  assign.mutable_case_()->set_dtype("fp32");
  assign.mutable_case_()->set_size("64");
  assign.add_implementations("fake/fast");
  assign.add_implementations("fake/crash");
  ASSERT_TRUE(coordinator_->Send(message));
  v1::AttemptResult result;
  ASSERT_TRUE(coordinator_->WaitFor([&](const std::vector<v1::WorkerMessage>& messages) {
    for (const auto& received : messages) {
      if (received.has_result()) result = received.result();
    }
    return result.results_size() > 0;
  })) << Log();
  EXPECT_EQ(result.results(0).outcome(), v1::OUTCOME_OK) << result.results(0).message();
  EXPECT_EQ(result.results(1).outcome(), v1::OUTCOME_CRASHED);
  EXPECT_EQ(result.results(0).device(), "test-cpu");

  kill(worker.pid, SIGTERM);
  const ExitStatus status = WaitProcess(worker, 5);
  EXPECT_TRUE(status.exited && status.code == 0) << status.ToString() << Log();
}

TEST_F(ProgramTest, PythonEnvironmentsOfTheConfigurationJoinOrAreAbsent) {
  const FakePythons pythons("program-python");
  std::ofstream(dir_ + "/worker.toml")
      << "[env.default]\npython = \"" << pythons.Path("slow") << "\"\n"
      << "[env.old]\npython = \"" << pythons.Path("traceback") << "\"\n"
      << "[env.gone]\npython = \"/nonexistent/python\"\n";
  Start({"--device", "cpu:0", "--config", dir_ + "/worker.toml"});
  v1::Offer offer;
  ASSERT_TRUE(coordinator_->WaitFor([&](const std::vector<v1::WorkerMessage>& messages) {
    for (const auto& message : messages) {
      if (message.heartbeat().has_offer()) offer = message.heartbeat().offer();
    }
    return offer.implementations_size() > 0;
  })) << Log();
  const v1::Device hello = coordinator_->received()[0].hello().device();
  EXPECT_GT(hello.implementations_size(), 3) << "what was there at once";
  EXPECT_EQ(hello.absent_size(), 3);
  EXPECT_EQ(offer.implementations_size(), hello.implementations_size() + 8);
  ASSERT_EQ(offer.absent_size(), 2) << "only torch on a CPU";
  EXPECT_EQ(offer.absent(0).environment(), "gone");
  EXPECT_THAT(offer.absent(0).message(), HasSubstr("/nonexistent/python does not exist"));
  EXPECT_EQ(offer.absent(1).environment(), "old");
  EXPECT_THAT(offer.absent(1).message(), HasSubstr("No module named 'kbench_runner'"));
}

TEST_F(ProgramTest, ASecondWorkerOnTheDeviceIsRefused) {
  const Process first = Start({"--device", "cpu:0"});
  ASSERT_TRUE(WaitForHello()) << Log();
  const Process second = Start({"--device", "cpu:0"}, "second");
  const ExitStatus status = WaitProcess(second, 10);
  EXPECT_EQ(status.code, 75) << status.ToString();
  EXPECT_THAT(Log("second"), HasSubstr("held by process " + std::to_string(first.pid)));
}

TEST_F(ProgramTest, DisplacedEndsWithOneLine) {
  coordinator_->RefuseWith({grpc::StatusCode::ALREADY_EXISTS, "another live worker has cpu"});
  const ExitStatus status = WaitProcess(Start({"--device", "cpu:0"}), 10);
  EXPECT_EQ(status.code, 5) << status.ToString();
  EXPECT_THAT(Log(), HasSubstr("kbench-worker: another live worker has cpu\n"));
}

TEST_F(ProgramTest, WrongUseIsOneClearLine) {
  struct Row {
    std::vector<std::string> args;
    int code;
    std::string says;
  };
  std::ofstream(dir_ + "/bad.toml") << "[env.Bad]\npython = \"/x\"\n";
  std::ofstream(dir_ + "/empty.toml") << "device = []\n";
  std::ofstream(dir_ + "/nan.toml") << "grace = nan\n";
  const Row rows[] = {
      {{"--device", "tpu"}, 2, "no device is called 'tpu'"},
      {{"--device", "cpu:9999"}, 2, "no CPU 9999"},
      {{"--device", "cpu:a"}, 2, "not a list of CPUs"},
      {{"--device", "cpu:0", "--server", "unix:" + std::string(120, 'x')}, 2, "107"},
      {{"--device", "cpu:0", "--data-dir", "/proc/kbench"}, 5, "/proc/kbench"},
      {{"--device", "cpu:0", "--runner", "/nonexistent/runner"}, 5, "/nonexistent/runner"},
      {{"--frobnicate"}, 2, "frobnicate"},
      {{"--name", "a b"}, 2, "letters, digits"},
      {{"--config", "/nonexistent/worker.toml"}, 2, "/nonexistent/worker.toml"},
      {{"--config", dir_ + "/bad.toml"}, 2, "[env.Bad]: an environment's name has"},
      {{"--config", dir_ + "/empty.toml"}, 2, "'device' has no value"},
      {{"--config", dir_ + "/nan.toml"}, 2, "'nan' is not a number from 0 to 86400"},
  };
  for (const Row& row : rows) {
    const ExitStatus status = WaitProcess(Start(row.args), 10);
    EXPECT_EQ(status.code, row.code) << row.says << ": " << status.ToString() << Log();
    EXPECT_THAT(Log(), HasSubstr(row.says));
  }
}

TEST_F(ProgramTest, AKilledWorkerLeavesTheDeviceFree) {
  const Process worker = Start({"--device", "cpu:0"});
  ASSERT_TRUE(WaitForHello()) << Log();
  kill(worker.pid, SIGKILL);
  EXPECT_EQ(WaitProcess(worker, 5).signal, SIGKILL);
  // The lock went with the process, and no runner inherited it.
  const Process next = Start({"--device", "cpu:0"}, "next");
  coordinator_->Forget();
  EXPECT_TRUE(WaitForHello()) << Log("next");
  kill(next.pid, SIGTERM);
  EXPECT_EQ(WaitProcess(next, 5).code, 0);
}

// On a machine whose driver is the fake one, in the state that a file says.
class MismatchTest : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    std::filesystem::copy_file(KBENCH_FAKE_NVML, dir_ + "/libnvidia-ml.so.1");
    env_ = {{"LD_LIBRARY_PATH", dir_}, {"FAKE_NVML_FILE", dir_ + "/ill"}};
    std::ofstream(dir_ + "/runner")
        << "#!/bin/sh\nexec " << KBENCH_FAKE_RUNNER << " --kind cuda \"$@\"\n";
    std::filesystem::permissions(dir_ + "/runner", std::filesystem::perms::owner_all);
  }
  void Ill(const std::string& word) {
    std::ofstream(dir_ + "/ill.new") << word;
    std::filesystem::rename(dir_ + "/ill.new", dir_ + "/ill");
  }
  Process StartGpu(const std::string& device, std::vector<std::string> args = {}) {
    args.insert(args.begin(), {"--device", device, "--runner", dir_ + "/runner"});
    return Start(args, "log", false);
  }
  // The device as the newest hello or heartbeat has it.
  bool WaitForState(const std::string& state, const std::string& reason) {
    return coordinator_->WaitFor(
        [&](const std::vector<v1::WorkerMessage>& messages) {
          if (messages.empty()) return false;
          const v1::WorkerMessage& last = messages.back();
          if (last.has_heartbeat()) {
            return last.heartbeat().device_state() == state &&
                   last.heartbeat().device_reason() == reason;
          }
          return last.hello().device().state() == state &&
                 last.hello().device().state_reason() == reason;
        },
        30);
  }
};

TEST_F(MismatchTest, TheWorkerWaitsAndStartsAnewInItsPlace) {
  Ill("well");
  const Process worker = StartGpu("0", {"--name", "h200", "--label", "rack=a", "--no-canaries"});
  ASSERT_TRUE(WaitForHello()) << Log();
  EXPECT_EQ(coordinator_->received()[0].hello().device().labels().at("rack"), "a");
  const std::string boot = coordinator_->received()[0].hello().boot_id();
  Ill("mismatch");
  ASSERT_TRUE(WaitForState("OFFLINE", "DRIVER_MISMATCH")) << Log();
  coordinator_->Forget();
  Ill("well");
  ASSERT_TRUE(coordinator_->WaitFor([](const auto& messages) {
    return std::any_of(messages.begin(), messages.end(),
                       [](const auto& message) { return message.has_hello(); });
  })) << Log();
  for (const auto& message : coordinator_->received()) {
    if (!message.has_hello()) continue;
    EXPECT_NE(message.hello().boot_id(), boot);
  }
  EXPECT_EQ(kill(worker.pid, 0), 0) << "the same process";
  kill(worker.pid, SIGTERM);
  EXPECT_EQ(WaitProcess(worker, 10).code, 0) << Log();
}

TEST_F(MismatchTest, AtItsStartTheWorkerKnowsItsDeviceFromTheLastGoodOne) {
  Ill("well");
  Process worker = StartGpu("0", {"--name", "h200", "--no-canaries"});
  ASSERT_TRUE(WaitForHello()) << Log();
  const v1::WorkerHello before = coordinator_->received()[0].hello();
  kill(worker.pid, SIGTERM);
  ASSERT_EQ(WaitProcess(worker, 10).code, 0);
  coordinator_->Forget();
  Ill("mismatch");
  worker = StartGpu("0", {"--no-canaries"});
  ASSERT_TRUE(WaitForState("OFFLINE", "DRIVER_MISMATCH")) << Log();
  const v1::WorkerHello offline = coordinator_->received()[0].hello();
  EXPECT_EQ(offline.worker_id(), before.worker_id());
  EXPECT_EQ(offline.device().name(), "h200");
  EXPECT_EQ(offline.device().uuid(), "GPU-00000000-aaaa");
  EXPECT_EQ(offline.device().model(), "NVIDIA H200");
  EXPECT_EQ(offline.device().implementations_size(), before.device().implementations_size());
  // Two workers of one device are refused in this state too.
  const ExitStatus second =
      WaitProcess(Start({"--device", "0", "--runner", dir_ + "/runner"}, "second", false), 10);
  EXPECT_EQ(second.code, 75) << Log("second");
  coordinator_->Forget();
  Ill("well");
  EXPECT_TRUE(WaitForState("READY", "") || WaitForState("CALIBRATING", "")) << Log();
  EXPECT_EQ(kill(worker.pid, 0), 0);
}

TEST_F(MismatchTest, WithoutALastGoodStartTheCommandLineMustDo) {
  Ill("mismatch");
  const ExitStatus status = WaitProcess(StartGpu("0"), 10);
  EXPECT_EQ(status.code, 5) << status.ToString();
  EXPECT_THAT(Log(), testing::AllOf(HasSubstr("the NVIDIA driver was upgraded"),
                                    HasSubstr("--device GPU-<uuid> and --name")));
  StartGpu("GPU-00000000-aaaa", {"--name", "h200"});
  ASSERT_TRUE(WaitForState("OFFLINE", "DRIVER_MISMATCH")) << Log();
  EXPECT_EQ(coordinator_->received()[0].hello().device().name(), "h200");
}

TEST_F(ProgramTest, BadLabelsAreUsageErrors) {
  const ExitStatus status = WaitProcess(Start({"--device", "cpu:0", "--label", "rack"}), 10);
  EXPECT_EQ(status.code, 2);
  EXPECT_THAT(Log(), HasSubstr("--label: 'rack' is not a label"));
}

}  // namespace
}  // namespace kbench
