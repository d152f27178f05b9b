// The pool with Python runners: late, absent, misbehaving; never a failed worker, never a hang.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <string>
#include <thread>

#include "proto/support/clock.h"
#include "tests/worker/daemon/fake_python.h"
#include "worker/daemon/runner_pool.h"

namespace kbench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class PythonPoolTest : public testing::Test {
 protected:
  RunnerPool::Options Options(std::vector<RunnerSpec> pythons) {
    RunnerPool::Options options;
    options.runners = {{KBENCH_FAKE_RUNNER, {}, {}}};
    options.runners.insert(options.runners.end(), pythons.begin(), pythons.end());
    options.device_kind = "cpu";
    options.spares = 2;
    options.refill_at_once = false;
    options.python_idle_seconds = 0;
    return options;
  }
  // The pool when all have answered.
  void Make(RunnerPool::Options options) {
    auto pool = RunnerPool::Create(std::move(options));
    ASSERT_TRUE(pool.ok()) << pool.status();
    pool_ = *std::move(pool);
    ASSERT_TRUE(pool_->Complete(never_));
  }
  std::string MessageOf(const std::string& behaviour, double hello_seconds = 20) {
    Make(Options({pythons_.Spec(behaviour, "torch211", hello_seconds)}));
    const auto absent = pool_->absent();
    if (absent.size() != 1) return "not one absent framework";
    EXPECT_EQ(absent[0].framework(), "torch");
    EXPECT_EQ(absent[0].environment(), "torch211");
    EXPECT_FALSE(absent[0].starting());
    EXPECT_EQ(pool_->HelloOf("sum", "torch@torch211"), nullptr);
    EXPECT_NE(pool_->HelloOf("matmul", "fake/fast"), nullptr);
    return absent[0].message();
  }
  bool WaitForSpares(int spares) {
    for (int i = 0; i < 1000 && pool_->spares() != spares; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return pool_->spares() == spares;
  }

  const FakePythons pythons_{"python-pool"};
  CancelToken never_;
  std::unique_ptr<RunnerPool> pool_;
};

TEST_F(PythonPoolTest, CreateDoesNotWaitAndTheyJoinLater) {
  const double start = SystemClock().SteadySeconds();
  auto created = RunnerPool::Create(Options({pythons_.Spec("slow"), pythons_.Spec("slow", "old")}));
  ASSERT_TRUE(created.ok()) << created.status();
  pool_ = *std::move(created);
  const auto waited_for = pool_->absent();
  const std::size_t before = pool_->implementations().size();
  ASSERT_THAT(waited_for, SizeIs(2));
  EXPECT_TRUE(waited_for[0].starting());
  EXPECT_EQ(pool_->HelloOf("sum", "torch"), nullptr);
  ASSERT_TRUE(pool_->Complete(never_));
  EXPECT_THAT(pool_->absent(), IsEmpty());
  EXPECT_EQ(pool_->implementations().size(), before + 16);
  ASSERT_NE(pool_->HelloOf("sum", "torch@old"), nullptr);
  EXPECT_EQ(pool_->HelloOf("sum", "torch@old")->libraries().at("torch"), "2.11.0");
  EXPECT_EQ(pool_->SpecOf("sum", "torch@old")->environment, "old");
  EXPECT_LT(SystemClock().SteadySeconds() - start, 15);
}

TEST_F(PythonPoolTest, WaitingForThemCanBeCancelled) {
  auto created = RunnerPool::Create(Options({pythons_.Spec("mute", "default", 600)}));
  ASSERT_TRUE(created.ok());
  CancelToken cancel;
  cancel.Cancel(CancelToken::Why::kShutdown);
  EXPECT_FALSE((*created)->Complete(cancel));
  created->reset();  // ends the runner that says nothing
}

TEST_F(PythonPoolTest, WhatDoesNotStartIsAbsentAndSaysWhy) {
  EXPECT_THAT(MessageOf("traceback"),
              testing::AllOf(HasSubstr("python-traceback"), HasSubstr("exit code 1 during hello"),
                             HasSubstr("ModuleNotFoundError: No module named 'kbench_runner'")));
  EXPECT_THAT(pool_->WhyAbsent("torch/flash@torch211"), HasSubstr("torch (torch211) is absent"));
  EXPECT_THAT(pool_->WhyAbsent("torch"), IsEmpty()) << "nobody looked in that environment";
  EXPECT_THAT(MessageOf("rubbish"), HasSubstr("during hello the runner sent"));
  EXPECT_THAT(MessageOf("nothing"), HasSubstr("does not say why"));
  EXPECT_THAT(MessageOf("badname"), HasSubstr("should end in '@torch211'"));
  const double start = SystemClock().SteadySeconds();
  EXPECT_THAT(MessageOf("mute", 0.5),
              testing::AllOf(HasSubstr("no answer within 0.5 s"), HasSubstr("still importing")));
  EXPECT_LT(SystemClock().SteadySeconds() - start, 10);
}

TEST_F(PythonPoolTest, AnInterpreterThatIsNotThereIsAbsent) {
  auto spec = pythons_.Spec("good");
  spec.program = "/nonexistent/python";
  Make(Options({spec}));
  ASSERT_THAT(pool_->absent(), SizeIs(1));
  EXPECT_THAT(pool_->absent()[0].message(), HasSubstr("/nonexistent/python"));
}

TEST_F(PythonPoolTest, AFrameworkThatIsAbsentSaysItself) {
  Make(Options({pythons_.Spec("absent")}));
  ASSERT_THAT(pool_->absent(), SizeIs(1));
  EXPECT_EQ(pool_->absent()[0].message(), "No module named 'torch'");
  EXPECT_THAT(pool_->absent()[0].install(), HasSubstr("-m pip install torch"));
  pool_->EndCase();
  EXPECT_TRUE(WaitForSpares(2)) << "of the other program; none of what offers nothing";
}

TEST_F(PythonPoolTest, OneThatPrintsIsSound) {
  Make(Options({pythons_.Spec("prints")}));
  EXPECT_THAT(pool_->absent(), IsEmpty());
  auto runner = pool_->Take("sum", "torch");
  ASSERT_TRUE(runner.ok()) << runner.status();
  EXPECT_THAT((*runner)->TakeOutput(), HasSubstr("a line of a library"));
}

TEST_F(PythonPoolTest, OneWarmSpareOfEach) {
  Make(Options({pythons_.Spec("good"), pythons_.Spec("good", "old")}));
  pool_->EndCase();
  EXPECT_TRUE(WaitForSpares(2 + 1 + 1)) << pool_->spares();
  pool_->BeginCase();
  ASSERT_TRUE(pool_->Take("sum", "torch").ok());
  ASSERT_TRUE(pool_->Take("sum", "torch@old").ok());
  const auto fresh = pool_->Take("matmul", "torch@old");
  ASSERT_TRUE(fresh.ok()) << "a third is started when it is needed: " << fresh.status();
  EXPECT_EQ(pool_->spares(), 2);
  pool_->EndCase();
  EXPECT_TRUE(WaitForSpares(4)) << pool_->spares();
}

TEST_F(PythonPoolTest, OneThatHasEndedIsReplaced) {
  Make(Options({pythons_.Spec("good")}));
  auto runner = pool_->Take("sum", "torch");
  ASSERT_TRUE(runner.ok());
  const int dead = (*runner)->pid();
  kill(dead, SIGKILL);
  for (int i = 0; i < 500 && !(*runner)->Ended(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  pool_->Keep("torch", *std::move(runner));
  const auto next = pool_->Take("sum", "torch");
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_NE((*next)->pid(), dead);
}

TEST_F(PythonPoolTest, OneThatStartsNoMoreHoldsNothingUp) {
  Make(Options({pythons_.Spec("once")}));
  const auto first = pool_->Take("sum", "torch");
  ASSERT_TRUE(first.ok());
  const auto second = pool_->Take("sum", "torch");
  EXPECT_THAT(std::string(second.status().message()), HasSubstr("FileExistsError"));
  pool_->EndCase();
  EXPECT_TRUE(WaitForSpares(2)) << "the others are refilled all the same";
}

TEST_F(PythonPoolTest, ACaseEndsTheStartOfASpare) {
  Make(Options({pythons_.Spec("slow")}));
  ASSERT_TRUE(pool_->Take("sum", "torch").ok());
  pool_->EndCase();
  ASSERT_TRUE(WaitForSpares(2));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  pool_->BeginCase();
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  EXPECT_EQ(pool_->spares(), 2) << "the one under way was ended";
  pool_->EndCase();
  EXPECT_TRUE(WaitForSpares(3)) << "and is started again afterwards";
}

TEST_F(PythonPoolTest, TakingOneHasAnEnd) {
  Make(Options({pythons_.Spec("slow")}));
  ASSERT_TRUE(pool_->Take("sum", "torch").ok());
  CancelToken cancel;
  cancel.Cancel(CancelToken::Why::kRequested);
  EXPECT_EQ(pool_->Take("sum", "torch", RunnerPool::Which::kAny, {10, &cancel}).status().code(),
            absl::StatusCode::kCancelled);
  EXPECT_EQ(pool_->Take("sum", "torch", RunnerPool::Which::kAny, {0.1, &never_}).status().code(),
            absl::StatusCode::kDeadlineExceeded);
}

TEST_F(PythonPoolTest, OnlyTheDefaultEnvironmentHasDefaultChoices) {
  Make(Options({pythons_.Spec("default"), pythons_.Spec("default", "old")}));
  std::vector<std::string> chosen;
  for (const auto& info : pool_->implementations()) {
    if (info.default_choice() && info.kernel() == "sum") chosen.push_back(info.name());
  }
  EXPECT_THAT(chosen, ElementsAre("torch"));
}

}  // namespace
}  // namespace kbench
