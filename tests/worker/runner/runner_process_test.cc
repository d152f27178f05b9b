// The real runner programs, driven over pipes as a person or the worker would.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kbench/v1/runner.pb.h"
#include "proto/support/json.h"
#include "proto/support/process.h"
#include "worker/runner/frames.h"

namespace kbench {
namespace {

using ::testing::HasSubstr;

constexpr char kRunner[] = KBENCH_BIN_DIR "/kbench-runner";
constexpr char kFixtures[] = KBENCH_TESTS_DIR "/kbench-runner-fixtures";

// One runner process with its frames; ended with the object.
class RunnerProcess {
 public:
  RunnerProcess(const std::string& program, std::vector<std::string> args, bool stdio) {
    int requests[2], replies[2];
    if (pipe2(requests, O_CLOEXEC) != 0 || pipe2(replies, O_CLOEXEC) != 0) abort();
    ProcessSpec spec;
    spec.argv = {program};
    if (stdio) spec.argv.push_back("--stdio");
    spec.argv.insert(spec.argv.end(), args.begin(), args.end());
    if (stdio) {
      spec.descriptors = {requests[0], replies[1], -1};
    } else {
      spec.descriptors = {-1, -1, -1, requests[0], replies[1]};
    }
    process_ = *Spawn(spec);
    close(requests[0]);
    close(replies[1]);
    requests_ = requests[1];
    replies_ = replies[0];
    reader_ = std::make_unique<FrameReader>(replies_);
  }
  ~RunnerProcess() {
    CloseRequests();
    KillProcessGroup(process_, 0);
    close(process_.pidfd);
    close(replies_);
  }

  void SendLine(const std::string& line) {
    const std::string text = line + "\n";
    ASSERT_EQ(write(requests_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  std::string ReadLine() {
    const auto line = reader_->Next();
    return line.ok() && line->has_value() ? **line : "";
  }
  v1::RunnerReply Ask(const std::string& request) {
    SendLine(request);
    v1::RunnerReply reply;
    const std::string line = ReadLine();
    EXPECT_TRUE(FromFrame(line, &reply).ok()) << line.substr(0, 200);
    return reply;
  }
  void CloseRequests() {
    if (requests_ >= 0) close(requests_);
    requests_ = -1;
  }
  ExitStatus Wait() { return WaitProcess(process_, 20); }
  pid_t pid() const { return process_.pid; }

 private:
  Process process_;
  int requests_ = -1, replies_ = -1;
  std::unique_ptr<FrameReader> reader_;
};

std::string PrepareLine(const std::string& kernel, const std::string& size,
                        const std::string& implementation) {
  return R"({"id":"1","prepare":{"case":{"kernel":")" + kernel + R"(","dtype":"fp32","size":")" +
         size + R"("},"implementation":")" + implementation +
         R"(","seed":"1","launchLimitSeconds":5}})";
}

void RunAllPhases(RunnerProcess& runner, const std::string& kernel, const std::string& size) {
  EXPECT_TRUE(runner.Ask(PrepareLine(kernel, size, "cpu/onednn")).has_prepared());
  EXPECT_TRUE(runner.Ask(R"({"id":"2","verify":{"stage":"BEFORE"}})").verified().passed());
  EXPECT_GT(runner.Ask(R"({"id":"3","warm":{"maxSeconds":0.05}})").warmed().sample_seconds(), 0);
  const auto burst = runner.Ask(R"({"id":"4","burst":{"samples":10,"maxSeconds":5}})").burst();
  EXPECT_EQ(burst.device_seconds_size() + burst.discarded(), 10);
  EXPECT_TRUE(runner.Ask(R"({"id":"5","verify":{"stage":"AFTER"}})").verified().passed());
  EXPECT_TRUE(
      runner.Ask(R"({"id":"6","verify":{"stage":"NEW_SEED","seed":"77"}})").verified().passed());
  const auto finished = runner.Ask(R"({"id":"7","finish":{}})");
  EXPECT_TRUE(finished.has_finished());
  EXPECT_EQ(finished.id(), 7u);
}

TEST(RunnerProcessTest, RunsTwoCasesThroughAllPhasesByStdio) {
  RunnerProcess runner(kRunner, {"--threads", "1"}, true);
  EXPECT_EQ(runner.Ask(R"({"id":"1","hello":{}})").hello().runner(), "kbench-runner");
  RunAllPhases(runner, "sum", "100000");
  RunAllPhases(runner, "matmul", "96");
  runner.CloseRequests();
  EXPECT_EQ(runner.Wait().code, 0);
}

TEST(RunnerProcessTest, SpeaksOnDescriptorsThreeAndFour) {
  RunnerProcess runner(kRunner, {"--threads", "1", "--parent", std::to_string(getpid())}, false);
  RunAllPhases(runner, "sum", "1000");
  runner.CloseRequests();
  EXPECT_EQ(runner.Wait().code, 0);
}

TEST(RunnerProcessTest, SaysWhatIsMissingWithoutDescriptors) {
  ProcessSpec spec;
  spec.argv = {kRunner};
  const Process process = *Spawn(spec);
  EXPECT_EQ(WaitProcess(process, 20).code, 2);
  close(process.pidfd);
}

TEST(RunnerProcessTest, EndsAtOnceWhenItsParentIsAnother) {
  RunnerProcess runner(kRunner, {"--parent", "1"}, false);
  EXPECT_EQ(runner.Wait().code, 1);
}

TEST(RunnerProcessTest, PinsItselfAndTellsItsThreads) {
  RunnerProcess runner(kRunner, {"--cpus", "0"}, true);
  const auto prepared = runner.Ask(PrepareLine("matmul", "64", "cpu/openblas")).prepared();
  EXPECT_EQ(prepared.settings().at("threads"), "1");
  cpu_set_t set;
  CPU_ZERO(&set);
  ASSERT_EQ(sched_getaffinity(runner.pid(), sizeof(set), &set), 0);
  EXPECT_EQ(CPU_COUNT(&set), 1);
  EXPECT_TRUE(CPU_ISSET(0, &set));
}

TEST(RunnerProcessTest, AnswersWhatIsNoFrameAndGoesOn) {
  RunnerProcess runner(kRunner, {"--threads", "1"}, true);
  for (const std::string line :
       {"", "garbage", "[]", R"({"id":"1","burst":{"samples":"NaN"}})", R"({"nonsense":1})",
        R"({"id":"1","burst":{"maxSeconds":"Infinity","samples":1}})"}) {
    const auto reply = runner.Ask(line);
    EXPECT_EQ(reply.id(), 0u) << line;
    EXPECT_EQ(reply.failure().reason(), "BAD_FRAME") << line;
    EXPECT_EQ(reply.failure().outcome(), v1::OUTCOME_INFRA) << line;
  }
  const auto huge = runner.Ask(std::string(kMaxFrameBytes + 1, ' '));
  EXPECT_EQ(huge.failure().reason(), "BAD_FRAME");
  EXPECT_THAT(huge.failure().message(), HasSubstr("limit"));
  EXPECT_TRUE(runner.Ask(R"({"id":"9","hello":{}})").has_hello());
}

TEST(RunnerProcessTest, NoiseOnStandardOutputNeverEntersTheFrames) {
  RunnerProcess runner(kFixtures, {"--threads", "1"}, true);
  EXPECT_TRUE(runner.Ask(PrepareLine("sum", "1000", "fixture/noisy-stdout")).has_prepared());
  EXPECT_TRUE(runner.Ask(R"({"id":"2","verify":{"stage":"BEFORE"}})").verified().passed());
}

TEST(RunnerProcessTest, ACrashEndsTheProcessWithItsSignal) {
  RunnerProcess runner(kFixtures, {"--threads", "1"}, false);
  runner.SendLine(PrepareLine("sum", "1000", "fixture/crash"));
  EXPECT_EQ(runner.ReadLine(), "");
  EXPECT_EQ(runner.Wait().signal, SIGSEGV);
}

TEST(RunnerProcessTest, AThrowingLaunchEndsTheProcessWithItsSignal) {
  RunnerProcess runner(kFixtures, {"--threads", "1"}, false);
  EXPECT_TRUE(runner.Ask(PrepareLine("sum", "1000", "fixture/throws-late")).has_prepared());
  EXPECT_TRUE(runner.Ask(R"({"id":"2","verify":{"stage":"BEFORE"}})").verified().passed());
  runner.SendLine(R"({"id":"3","burst":{"samples":100,"maxSeconds":5}})");
  EXPECT_EQ(runner.ReadLine(), "");
  EXPECT_EQ(runner.Wait().signal, SIGABRT);
}

TEST(RunnerProcessTest, CalibratesByHand) {
  RunnerProcess runner(kRunner, {"--threads", "2"}, true);
  const auto calibrated = runner.Ask(R"({"id":"1","calibrate":{}})").calibrated();
  EXPECT_TRUE(calibrated.calibration().passed()) << calibrated.calibration().message();
  EXPECT_GT(calibrated.calibration().copy_bandwidth(), 0);
}

TEST(RunnerProcessTest, StrayFramesComeAsTheyAre) {
  RunnerProcess bad(kFixtures, {"--threads", "1"}, false);
  bad.SendLine(PrepareLine("sum", "1000", "fixture/bad-frame"));
  v1::RunnerReply reply;
  EXPECT_FALSE(FromFrame(bad.ReadLine(), &reply).ok());
  RunnerProcess nan(kFixtures, {"--threads", "1"}, false);
  nan.SendLine(PrepareLine("sum", "1000", "fixture/nan-frame"));
  EXPECT_FALSE(FromFrame(nan.ReadLine(), &reply).ok());
}

}  // namespace
}  // namespace kbench
