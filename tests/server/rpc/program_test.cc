// The real program: kill -9 loses nothing, SIGTERM ends it cleanly, its errors are one line, and it
// stays small.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>

#include "grpcpp/grpcpp.h"
#include "kbench/v1/job_service.grpc.pb.h"
#include "proto/support/channel.h"
#include "proto/support/process.h"
#include "tests/server/rpc/harness.h"
#include "tests/server/store/temp_dir.h"

namespace kbench::server {
namespace {

using ::testing::HasSubstr;

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

class Program {
 public:
  explicit Program(const TempDir& dir, std::vector<std::string> arguments = {}) : dir_(dir) {
    if (arguments.empty())
      arguments = {"--listen", "unix:" + (dir / "s"), "--data-dir", dir / "data"};
    ProcessSpec spec;
    spec.argv = {KBENCH_SERVER, "--metrics-listen", ""};
    spec.argv.insert(spec.argv.end(), arguments.begin(), arguments.end());
    const int log = open((dir / "log").c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
    spec.descriptors = {-1, log, log};
    auto process = Spawn(spec);
    close(log);
    EXPECT_TRUE(process.ok()) << process.status();
    if (process.ok()) process_ = *process;
  }
  ~Program() {
    if (process_.pid > 0) End(SIGKILL);
  }

  pid_t pid() const { return process_.pid; }
  // Its exit; waits.
  ExitStatus End(int signal) {
    if (signal != 0) kill(process_.pid, signal);
    const ExitStatus exit = WaitProcess(process_, 20);
    close(process_.pidfd);
    process_.pid = -1;
    return exit;
  }
  std::unique_ptr<v1::JobService::Stub> Connect() const {
    const auto channel = MakeChannel("unix:" + (dir_ / "s"));
    EXPECT_TRUE(
        channel->WaitForConnected(std::chrono::system_clock::now() + std::chrono::seconds(20)))
        << ReadFile(dir_ / "log");
    return v1::JobService::NewStub(channel);
  }
  long RssKiB() const {
    std::ifstream status("/proc/" + std::to_string(process_.pid) + "/status");
    for (std::string line; std::getline(status, line);) {
      if (line.rfind("VmRSS:", 0) == 0) return std::atol(line.c_str() + 6);
    }
    return -1;
  }

 private:
  const TempDir& dir_;
  Process process_;
};

std::string Submit(v1::JobService::Stub& jobs, int cases) {
  grpc::ClientContext context;
  v1::Job job;
  const grpc::Status status = jobs.SubmitJob(&context, MatmulJob(cases), &job);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return job.name();
}

TEST(ServerProgram, WhatWasSubmittedSurvivesKill9) {
  TempDir dir;
  std::string name;
  {
    Program program(dir);
    name = Submit(*program.Connect(), 3);
    EXPECT_EQ(program.End(SIGKILL).signal, SIGKILL);
  }
  Program program(dir);
  grpc::ClientContext context;
  v1::GetJobRequest request;
  request.set_name(name);
  v1::Job job;
  ASSERT_TRUE(program.Connect()->GetJob(&context, request, &job).ok());
  EXPECT_EQ(job.cases_size(), 3);
  EXPECT_EQ(job.state(), v1::JOB_STATE_QUEUED);
}

TEST(ServerProgram, SigtermEndsItCleanly) {
  TempDir dir;
  Program program(dir);
  const auto jobs = program.Connect();
  const std::string name = Submit(*jobs, 1);
  EXPECT_THAT(ReadFile(dir / "data/server.json"),
              ::testing::AllOf(HasSubstr(dir / "s"), HasSubstr(std::to_string(program.pid()))));
  grpc::ClientContext context;
  v1::WatchJobRequest request;
  request.set_name(name);
  const auto watch = jobs->WatchJob(&context, request);
  v1::JobEvent event;
  ASSERT_TRUE(watch->Read(&event));
  kill(program.pid(), SIGTERM);
  while (watch->Read(&event)) {
  }
  EXPECT_EQ(watch->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  const ExitStatus exit = program.End(0);
  EXPECT_TRUE(exit.exited);
  EXPECT_EQ(exit.code, 0) << ReadFile(dir / "log");
  EXPECT_FALSE(std::filesystem::exists(dir / "data/server.json"));
}

TEST(ServerProgram, ErrorsAreOneLine) {
  TempDir dir;
  Program first(dir);
  first.Connect();
  const struct {
    std::vector<std::string> arguments;
    const char* says;
    int code;
  } cases[] = {
      {{"--listen", "unix:" + (dir / "t"), "--data-dir", dir / "data"},
       "another kbench-server (pid",
       5},
      {{"--listen", "unix:" + (dir / "s"), "--data-dir", dir / "other"},
       "another server listens on",
       5},
      {{"--listen", "10.0.0.1:7600", "--data-dir", dir / "other"}, "not a loopback address", 2},
      {{"--metrics-listen", "0.0.0.0:0", "--data-dir", dir / "other"},
       "0.0.0.0:0 is not a loopback address",
       2},
      {{"--listen", "nonsense", "--data-dir", dir / "other"}, "is not an address", 2},
      {{"--listen", "unix:" + (dir / "t"), "--data-dir", "/proc/kbench"}, "/proc/kbench", 5},
      {{"--no-such-option"}, "--no-such-option", 2},
  };
  for (const auto& bad : cases) {
    TempDir logs;
    Program second(logs, bad.arguments);
    const ExitStatus exit = second.End(0);
    EXPECT_EQ(exit.code, bad.code);
    const std::string log = ReadFile(logs / "log");
    EXPECT_THAT(log, HasSubstr(bad.says));
    EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 1) << log;
  }
}

TEST(ServerProgram, StaysSmallWithAThousandJobs) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "a sanitizer's memory is not ours";
#endif
  TempDir dir;
  Program program(dir);
  const auto jobs = program.Connect();
  for (int i = 0; i < 1000; ++i) {
    const std::string name = Submit(*jobs, 2);
    grpc::ClientContext context;
    v1::CancelJobRequest request;
    request.set_name(name);
    v1::Job job;
    ASSERT_TRUE(jobs->CancelJob(&context, request, &job).ok());
    ASSERT_EQ(job.state(), v1::JOB_STATE_CANCELLED);
  }
  const long rss = program.RssKiB();
  RecordProperty("rss_kib", std::to_string(rss));
  EXPECT_GT(rss, 0);
  EXPECT_LT(rss, 64 * 1024);
}

}  // namespace
}  // namespace kbench::server
