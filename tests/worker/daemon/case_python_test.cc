// Cases with Python runners: their faults are outcomes like any other's, and results say with what
// they were measured.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/worker/daemon/case_driver_fixture.h"
#include "tests/worker/daemon/fake_python.h"

namespace kbench {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class CasePythonTest : public CaseDriverTest {
 protected:
  void MakePythonPool(const std::vector<RunnerSpec>& pythons) {
    RunnerPool::Options options;
    options.runners = {{KBENCH_FAKE_RUNNER, {}, {}}};
    options.runners.insert(options.runners.end(), pythons.begin(), pythons.end());
    options.device_kind = "cpu";
    options.refill_at_once = false;
    auto pool = RunnerPool::Create(options);
    ASSERT_TRUE(pool.ok()) << pool.status();
    pool_ = *std::move(pool);
    ASSERT_TRUE(pool_->Complete(cancel_));
  }
  std::string LogOf(const std::string& name) const {
    const v1::Artifact* log = Find(name);
    return log == nullptr ? "no such artifact" : log->content();
  }

  const FakePythons pythons_{"case-python"};
};

TEST_F(CasePythonTest, FaultsAreOutcomesWithTheLastLineAndTheNextOnesRun) {
  MakePythonPool({pythons_.Spec("good")});
  Implementations({"torch/crash", "torch/hang", "torch/raise", "torch", "fake/fast"}, "fake/fast");
  SetBudget(8);
  auto results = Run();
  EXPECT_EQ(results["torch"].outcome(), v1::OUTCOME_OK) << results["torch"].message();
  EXPECT_EQ(results["fake/fast"].outcome(), v1::OUTCOME_OK);
  EXPECT_EQ(results["torch"].comparison().baseline(), "fake/fast");
  const v1::Result& crash = results["torch/crash"];
  EXPECT_EQ(crash.outcome(), v1::OUTCOME_CRASHED);
  EXPECT_EQ(crash.reason(), "SIGABRT");
  EXPECT_THAT(crash.message(), HasSubstr("; it said last: "));
  EXPECT_THAT(LogOf("log-torch_crash.txt"), HasSubstr("about to crash"));
  const v1::Result& hang = results["torch/hang"];
  EXPECT_EQ(hang.outcome(), v1::OUTCOME_TIMED_OUT);
  EXPECT_THAT(hang.message(),
              AllOf(HasSubstr("no answer"), HasSubstr("it said last: waiting for ever")));
  EXPECT_EQ(results["torch/raise"].outcome(), v1::OUTCOME_CRASHED);
  EXPECT_EQ(results["torch/raise"].reason(), "PYTHON_EXCEPTION");
  EXPECT_THAT(results["torch/raise"].message(), HasSubstr("ValueError: scripted"));
}

TEST_F(CasePythonTest, TwoEnvironmentsArePairedAndSayWhatTheyRan) {
  MakePythonPool({pythons_.Spec("good"), pythons_.Spec("good", "old")});
  Implementations({"torch", "torch@old"}, "torch");
  auto results = Run();
  EXPECT_EQ(results["torch@old"].outcome(), v1::OUTCOME_OK) << results["torch@old"].message();
  EXPECT_EQ(results["torch@old"].comparison().baseline(), "torch");
  EXPECT_EQ(results["torch@old"].environment().libraries().at("torch"), "2.11.0");
  EXPECT_EQ(results["torch@old"].environment().settings().at("environment"), "old");
  EXPECT_EQ(results["torch"].environment().settings().at("environment"), "default");
  EXPECT_NE(Find("samples-torch@old.json"), nullptr);
}

TEST_F(CasePythonTest, AnAbsentFrameworkIsTheReasonOfItsRows) {
  MakePythonPool({pythons_.Spec("absent", "old")});
  Implementations({"torch/flash@old", "torch", "fake/fast"});
  auto results = Run();
  const v1::Result& absent = results["torch/flash@old"];
  EXPECT_EQ(absent.outcome(), v1::OUTCOME_UNSUPPORTED);
  EXPECT_EQ(absent.reason(), "ABSENT_FRAMEWORK");
  EXPECT_THAT(absent.message(), AllOf(HasSubstr("torch (old) is absent: No module named 'torch'"),
                                      HasSubstr("-m pip install torch")));
  EXPECT_EQ(results["torch"].reason(), "UNKNOWN_IMPLEMENTATION");
  EXPECT_EQ(results["fake/fast"].outcome(), v1::OUTCOME_OK);
}

TEST_F(CasePythonTest, OneThatStartsNoMoreIsARowOfItsOwn) {
  MakePythonPool({pythons_.Spec("once")});
  Implementations({"torch", "torch/raise", "fake/fast"});
  auto results = Run();
  int started = 0;
  for (const char* name : {"torch", "torch/raise"}) {
    if (results[name].reason() != "NO_RUNNER") {
      ++started;
      continue;
    }
    EXPECT_EQ(results[name].outcome(), v1::OUTCOME_INFRA);
    EXPECT_THAT(results[name].message(), HasSubstr("FileExistsError"));
  }
  EXPECT_EQ(started, 1) << "the spare";
  EXPECT_EQ(results["fake/fast"].outcome(), v1::OUTCOME_OK);
}

}  // namespace
}  // namespace kbench
