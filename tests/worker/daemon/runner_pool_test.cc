#include "worker/daemon/runner_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <string>
#include <thread>

namespace kbench {
namespace {

using testing::HasSubstr;

RunnerPool::Options Fake(std::vector<std::string> args = {}) {
  RunnerPool::Options options;
  options.runners = {{KBENCH_FAKE_RUNNER, std::move(args), {}}};
  options.device_kind = "cpu";
  options.spares = 2;
  options.hello_seconds = 5;
  return options;
}

void WaitForSpares(const RunnerPool& pool, int spares) {
  for (int i = 0; i < 500 && pool.spares() != spares; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(pool.spares(), spares);
}

TEST(RunnerPool, LearnsTheImplementationsAndKeepsSpares) {
  const auto pool = RunnerPool::Create(Fake());
  ASSERT_TRUE(pool.ok()) << pool.status();
  EXPECT_EQ((*pool)->implementations()[0].name(), "fake/fast");
  EXPECT_EQ((*pool)->HelloOf("matmul", "fake/fast")->engine_version(), "fake-1");
  EXPECT_EQ((*pool)->HelloOf("sum", "fake/fast"), nullptr);
  WaitForSpares(**pool, 2);
}

TEST(RunnerPool, NoSpareStartsWhileACaseRuns) {
  const auto pool = RunnerPool::Create(Fake());
  ASSERT_TRUE(pool.ok());
  WaitForSpares(**pool, 2);
  (*pool)->BeginCase();
  const auto first = (*pool)->Take("matmul", "fake/fast");
  const auto second = (*pool)->Take("matmul", "fake/half");
  const auto third = (*pool)->Take("matmul", "fake/noisy");
  EXPECT_TRUE(first.ok() && second.ok() && third.ok()) << "beyond the spares a new one is started";
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ((*pool)->spares(), 0);
  (*pool)->EndCase();
  WaitForSpares(**pool, 2);
}

TEST(RunnerPool, AKilledSpareIsNotHandedOut) {
  const auto pool = RunnerPool::Create(Fake());
  ASSERT_TRUE(pool.ok());
  (*pool)->BeginCase();
  auto runner = (*pool)->Take("matmul", "fake/fast");
  ASSERT_TRUE(runner.ok());
  kill((*runner)->pid(), SIGKILL);
  for (int i = 0; i < 500 && !(*runner)->Ended(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  const int dead = (*runner)->pid();
  (*pool)->Keep("fake/fast", *std::move(runner));
  const auto next = (*pool)->Take("matmul", "fake/fast");
  ASSERT_TRUE(next.ok());
  EXPECT_NE((*next)->pid(), dead);
}

TEST(RunnerPool, AKeptRunnerComesBackForItsImplementationOnly) {
  const auto pool = RunnerPool::Create(Fake());
  ASSERT_TRUE(pool.ok());
  auto runner = (*pool)->Take("matmul", "fake/fast");
  ASSERT_TRUE(runner.ok());
  const int pid = (*runner)->pid();
  (*pool)->Keep("fake/fast", *std::move(runner));
  EXPECT_NE((*(*pool)->Take("matmul", "fake/half"))->pid(), pid);
  auto again = (*pool)->Take("matmul", "fake/fast");
  EXPECT_EQ((*again)->pid(), pid);
  (*pool)->Keep("fake/fast", *std::move(again));
  (*pool)->DropKept();
  bool ended = kill(pid, 0) != 0;
  for (int i = 0; i < 200 && !ended; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    ended = kill(pid, 0) != 0;
  }
  EXPECT_TRUE(ended) << "dropped means ended";
}

TEST(RunnerPool, ErrorsNameTheProgram) {
  auto absent = Fake();
  absent.runners[0].program = "/nonexistent/runner";
  EXPECT_THAT(std::string(RunnerPool::Create(absent).status().message()),
              HasSubstr("/nonexistent/runner"));
  EXPECT_THAT(std::string(RunnerPool::Create(Fake({"--kind", "cuda"})).status().message()),
              HasSubstr("drives 'cuda', this device is 'cpu'"));
  auto mute = Fake({"--mute"});
  mute.hello_seconds = 0.1;
  EXPECT_THAT(std::string(RunnerPool::Create(mute).status().message()), HasSubstr("during hello"));
  EXPECT_EQ((*RunnerPool::Create(Fake()))->Take("matmul", "nobody").status().code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace kbench
