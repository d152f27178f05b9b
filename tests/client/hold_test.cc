// with and hold against a coordinator in this process, with real commands.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <sstream>
#include <thread>

#include "client/app.h"
#include "client/hold/local_command.h"
#include "proto/support/clock.h"
#include "proto/support/error.h"
#include "tests/client/fake_service.h"
#include "tests/client/samples.h"

namespace kbench::client {
namespace {

using ::testing::AllOf;
using testing::Event;
using testing::FakeCoordinator;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Parse;

std::string Hostname() {
  char name[256] = {};
  gethostname(name, sizeof(name) - 1);
  return name;
}

std::string JobText(const std::string& state, const std::string& host,
                    const std::string& more = "") {
  return "name: \"jobs/k3f9x2ab\" state: JOB_STATE_" + state +
         " spec { device: \"gpu0\" hold { duration { seconds: 60 } attached: true } }"
         " cases { spec { kernel: \"hold\" size: \"1m\" } device: \"gpu0\" state: JOB_STATE_" +
         state + " hostname: \"" + host + "\" device_uuid: \"GPU-1\" " + more + "} ";
}

bool Alive(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto end = text.rfind(')');
  return end != std::string::npos && text[end + 2] != 'Z';
}

struct Ran {
  int code = 0;
  std::string out;
  std::string err;
};

class HoldTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Running(Hostname());
    fake_.jobs.left_seconds = 60;
    out_file_ = ::testing::TempDir() + "/hold-test-" + std::to_string(getpid());
  }
  void TearDown() override { unlink(out_file_.c_str()); }

  void Running(const std::string& host) {
    fake_.jobs.job = Parse<kbench::v1::Job>(JobText("RUNNING", host));
    fake_.jobs.streams = {
        {.events = {Event("snapshot { " + JobText("QUEUED", "") + " queue_position: 2 }"),
                    Event(
                        "sequence: 2 case_changed { state: JOB_STATE_RUNNING device: \"gpu0\" }")},
         .hang = true}};
  }

  // The real standard output of a command is the test's own: it writes to a file instead.
  std::string Written() const {
    std::ifstream file(out_file_);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::vector<std::string> Shell(const std::string& script, const std::string& time = "1m") const {
    return {"with", "gpu0", "--for", time, "--", "sh", "-c", "exec >" + out_file_ + "; " + script};
  }
  Ran Run(const std::vector<std::string>& arguments) {
    std::ostringstream out;
    std::ostringstream err;
    Io io{out, err, false};
    const int code = fake_.Run(arguments, io, interrupt_);
    return {code, out.str(), err.str()};
  }
  bool WaitForOutput(const std::string& text) const {
    for (int i = 0; i < 1000 && Written().find(text) == std::string::npos; ++i) usleep(10'000);
    return Written().find(text) != std::string::npos;
  }

  FakeCoordinator fake_;
  Interrupt interrupt_;
  std::string out_file_;
};

TEST_F(HoldTest, TheCommandRunsWithTheDeviceAndItsCodeIsOurs) {
  const Ran ran = Run(Shell("echo $CUDA_VISIBLE_DEVICES $CUDA_DEVICE_ORDER $KBENCH_JOB; exit 42"));
  EXPECT_EQ(ran.code, 42) << ran.err;
  EXPECT_EQ(Written(), "GPU-1 PCI_BUS_ID k3f9x2ab\n");
  EXPECT_THAT(ran.out, IsEmpty()) << "standard output is the command's";
  EXPECT_THAT(ran.err, AllOf(HasSubstr("waits for gpu0: 2 cases ahead"),
                             HasSubstr("gpu0 on host " + Hostname() + " is yours until")));
  ASSERT_EQ(fake_.jobs.submitted.size(), 1u);
  EXPECT_TRUE(fake_.jobs.submitted[0].spec().hold().attached());
  EXPECT_EQ(fake_.jobs.submitted[0].spec().hold().command_size(), 0);
  ASSERT_EQ(fake_.jobs.ended_holds.size(), 1u);
  EXPECT_EQ(fake_.jobs.ended_holds[0].exit_code(), 42);
}

TEST_F(HoldTest, ASignalIsAnExitCode) { EXPECT_EQ(Run(Shell("kill -TERM $$")).code, 143); }

TEST_F(HoldTest, AMissingProgramIsToldBeforeTheWait) {
  const Ran ran = Run({"with", "gpu0", "--for", "1m", "--", "no-such-program"});
  EXPECT_EQ(ran.code, 127);
  EXPECT_THAT(ran.err, HasSubstr("there is no program no-such-program"));
  EXPECT_TRUE(fake_.jobs.submitted.empty());
}

TEST_F(HoldTest, ADeviceElsewhereIsGivenBackAtOnce) {
  Running("elsewhere");
  const Ran ran = Run(Shell("echo never"));
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("on host elsewhere"), HasSubstr("--remote")));
  EXPECT_EQ(Written(), "");
  EXPECT_EQ(fake_.jobs.ended_holds.size(), 1u);
}

TEST_F(HoldTest, SignalsOfOthersArePassedOnThoseOfTheTerminalAreNot) {
  std::thread signals([&] {
    ASSERT_TRUE(WaitForOutput("up"));
    interrupt_.Fire(SIGINT, true);  // the terminal has sent it to the command too
    interrupt_.Fire(SIGTERM, false);
  });
  const Ran ran =
      Run(Shell("trap 'echo int' INT; trap 'echo term; exit 9' TERM; echo up; "
                "while :; do sleep 0.05; done"));
  signals.join();
  EXPECT_EQ(ran.code, 9) << ran.err;
  EXPECT_EQ(Written(), "up\nterm\n");
}

TEST_F(HoldTest, TheEndOfItsTimeEndsTheCommand) {
  fake_.jobs.left_seconds = 1;
  const Ran ran = Run(Shell("sleep 61 & echo $!; wait"));
  EXPECT_EQ(ran.code, 143) << ran.err;
  EXPECT_THAT(ran.err, AllOf(HasSubstr("is yours for 1 s more"), HasSubstr("is over")));
  EXPECT_FALSE(Alive(std::stoi(Written()))) << "its children are ended too";
  ASSERT_EQ(fake_.jobs.ended_holds.size(), 1u);
  EXPECT_EQ(fake_.jobs.ended_holds[0].exit_code(), 143);
}

TEST_F(HoldTest, ALostDeviceEndsTheCommandWithACodeOfOurs) {
  fake_.jobs.lapse_seconds = 0.4;
  std::thread coordinator([&] {
    ASSERT_TRUE(WaitForOutput("up"));
    fake_.jobs.SetJob(
        Parse<kbench::v1::Job>(JobText("CANCELLED", "") + "message: \"cancelled while it ran\""));
    fake_.jobs.held = false;
  });
  const Ran ran = Run(Shell("echo up; exec sleep 60"));
  coordinator.join();
  EXPECT_EQ(ran.code, 7) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("not yours any more: job k3f9x2ab ended CANCELLED"));
}

TEST_F(HoldTest, SilenceBeyondTheLapseIsToldAndTheCommandGoesOn) {
  fake_.jobs.lapse_seconds = 0.4;
  std::thread coordinator([&] {
    ASSERT_TRUE(WaitForOutput("up"));
    fake_.jobs.away = true;
    for (int i = 0; i < 1000 && fake_.jobs.unanswered < 10; ++i) usleep(10'000);
    fake_.jobs.away = false;
    const int kept = fake_.jobs.kept;
    for (int i = 0; i < 1000 && fake_.jobs.kept < kept + 3; ++i) usleep(10'000);
    interrupt_.Fire(SIGTERM, false);
  });
  const Ran ran = Run(Shell("trap 'exit 9' TERM; echo up; while :; do sleep 0.05; done"));
  coordinator.join();
  EXPECT_EQ(ran.code, 9) << ran.err;
  EXPECT_THAT(ran.err, AllOf(HasSubstr("no answer from the coordinator for 1 s: gpu0 may be given"),
                             HasSubstr("the coordinator is back, gpu0 is still yours")));
}

TEST_F(HoldTest, CtrlCWhileItWaitsCancelsIt) {
  fake_.jobs.streams = {
      {.events = {Event("snapshot { " + JobText("QUEUED", "") + " }")}, .hang = true}};
  fake_.jobs.SetJob(Parse<kbench::v1::Job>(JobText("QUEUED", "")));
  std::thread user([&] {
    while (!fake_.jobs.Watched()) usleep(10'000);
    usleep(100'000);
    EXPECT_TRUE(interrupt_.Fire());
  });
  const Ran ran = Run(Shell("echo never"));
  user.join();
  EXPECT_EQ(ran.code, 130);
  EXPECT_THAT(ran.err, HasSubstr("job k3f9x2ab is cancelled"));
  EXPECT_EQ(fake_.jobs.cancelled, 1);
  EXPECT_EQ(Written(), "");
}

TEST_F(HoldTest, AJobThatEndsBeforeItBeginsSaysWhy) {
  const std::string ended = JobText("EXPIRED", "") + " message: \"no device was free\"";
  fake_.jobs.streams = {{.events = {Event("snapshot { " + JobText("QUEUED", "") + " }"),
                                    Event("sequence: 3 final { " + ended + " }")}}};
  const Ran ran = Run(Shell("echo never"));
  EXPECT_EQ(ran.code, 6);
  const std::string told = "ended EXPIRED: no device was free";
  const std::size_t at = ran.err.find(told);
  ASSERT_NE(at, std::string::npos) << ran.err;
  EXPECT_EQ(ran.err.find(told, at + 1), std::string::npos) << "once is enough";
}

TEST_F(HoldTest, AtTheWorkerItsOutputAndCodeComeBack) {
  const std::string ended = JobText("SUCCEEDED", "", "exit_code: 4");
  fake_.jobs.streams.push_back({.events = {Event("sequence: 3 final { " + ended + " }")}});
  fake_.jobs.streams[0].hang = false;
  fake_.results.artifacts = Parse<kbench::v1::ListArtifactsResponse>(
      "artifacts { name: \"artifacts/k3f9x2ab-0-stdout.txt\" }"
      "artifacts { name: \"artifacts/k3f9x2ab-0-stderr.txt\" }");
  const Ran ran = Run({"with", "gpu0", "--for", "1m", "--remote", "--setenv", "A=b=c", "--",
                       "python", "-c", "[1,2]"});
  EXPECT_EQ(ran.code, 4) << ran.err;
  EXPECT_EQ(ran.out, "one two of artifacts/k3f9x2ab-0-stdout.txt\n");
  EXPECT_THAT(ran.err, HasSubstr("one two of artifacts/k3f9x2ab-0-stderr.txt\n"));
  const auto& hold = fake_.jobs.submitted[0].spec().hold();
  ASSERT_EQ(hold.command_size(), 3);
  EXPECT_EQ(hold.command(2), "[1,2]");
  EXPECT_EQ(hold.environment().at("A"), "b=c");
  EXPECT_TRUE(fake_.jobs.ended_holds.empty()) << "its command ends it";
}

TEST_F(HoldTest, HoldStaysUntilCtrlC) {
  std::thread user([&] {
    while (fake_.jobs.kept == 0) usleep(10'000);
    usleep(100'000);
    EXPECT_TRUE(interrupt_.Fire());
  });
  const Ran ran = Run({"hold", "gpu0", "--for", "1m"});
  user.join();
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("gpu0 on host"), HasSubstr("CUDA_VISIBLE_DEVICES=GPU-1")));
  EXPECT_EQ(fake_.jobs.ended_holds.size(), 1u);
}

TEST_F(HoldTest, HoldEndsWithItsTime) {
  fake_.jobs.left_seconds = 0.5;
  const Ran ran = Run({"hold", "gpu0", "--for", "1m", "-o", "json"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("\"device_uuid\":\"GPU-1\""));
  EXPECT_THAT(ran.err, HasSubstr("is over"));
}

TEST_F(HoldTest, DetachedItSaysHowToEndIt) {
  const Ran ran = Run({"hold", "gpu0", "--for", "1m", "--detach"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.out, "k3f9x2ab\n");
  EXPECT_THAT(ran.err, HasSubstr("kbench-client cancel k3f9x2ab"));
  EXPECT_FALSE(fake_.jobs.submitted[0].spec().hold().attached());
}

TEST_F(HoldTest, ListAndShowKnowIt) {
  EXPECT_THAT(Run({"list"}).out, HasSubstr("hold 1m"));
  EXPECT_THAT(Run({"show", "k3f9x2ab"}).out, HasSubstr("hold 1m on gpu0"));
}

TEST(LocalCommandTest, RunsOnTheCoresThatWereLent) {
  std::atomic<bool> ended = false;
  auto command = LocalCommand::Start(
      {"sh", "-c", "test \"$(taskset -cp $$ | sed 's/.*: //')\" = 0 && test \"$A\" = b"},
      {{"A", "b"}}, {0}, [&] { ended = true; });
  ASSERT_TRUE(command.ok()) << command.status();
  for (int i = 0; i < 1000 && !ended; ++i) usleep(10'000);
  EXPECT_EQ((*command)->code(), 0);
}

TEST(LocalCommandTest, WhatCannotRun) {
  EXPECT_TRUE(ProgramExists("sh"));
  EXPECT_FALSE(ProgramExists("/etc/passwd"));
  EXPECT_FALSE(ProgramExists("/"));
  EXPECT_EQ(LocalCommand::Start({"/etc/passwd"}, {}, {}, [] {}).status().code(),
            absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(LocalCommand::Start({"no-such-program"}, {}, {}, [] {}).status().code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace kbench::client
