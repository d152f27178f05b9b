// The verb compare and how it prints, against a coordinator in this process.
#include <algorithm>
#include <sstream>

#include "client/output/comparison.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/fake_service.h"
#include "tests/client/samples.h"

namespace kbench::client {
namespace {

using ::testing::AllOf;
using testing::EndedCase;
using testing::Event;
using testing::FakeCoordinator;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::OkRow;
using testing::Parse;

constexpr char kFaster[] =
    "verdict: \"faster\" speedup: 1.316 low: 1.309 high: 1.323 margin_ratio: 0.01 "
    "p_value: 0.0078 paired: true";

std::string Row(const std::string& name, const std::string& implementation) {
  return "name: \"results/" + name + "\" job: \"jobs/" + name.substr(0, name.find('-')) + "\" " +
         R"(case { kernel: "matmul" dtype: "fp16" mode: "cold" shape: "m=4096,n=4096,k=4096" } )" +
         OkRow(implementation);
}

class CompareTest : public ::testing::Test {
 protected:
  CompareTest() {
    fake_.results.results = {Parse<kbench::v1::Result>(Row("old-0-0", "cublas")),
                             Parse<kbench::v1::Result>(Row("old-0-1", "cuda/naive"))};
    Answer(kFaster);
    PrepareJob("results {" + Row("new-0-0", "cublas") + "} results {" +
               Row("new-0-1", "cuda/naive") + "}");
  }

  void Answer(const std::string& comparison) {
    fake_.results.comparisons = {Parse<kbench::v1::BaselineComparison>(comparison)};
  }

  void PrepareJob(const std::string& rows) {
    fake_.jobs.job = Parse<kbench::v1::Job>(R"(name: "jobs/new" state: JOB_STATE_QUEUED)");
    fake_.jobs.streams = {{.events = {Event(
                               R"(sequence: 4 final { name: "jobs/new" state: JOB_STATE_SUCCEEDED
                                  cases { )" +
                               EndedCase(rows) + " } }")}}};
  }

  int Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "compare");
    out_.str("");
    err_.str("");
    Io io{out_, err_};
    Interrupt interrupt;
    return fake_.Run(arguments, io, interrupt);
  }

  FakeCoordinator fake_;
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(CompareTest, TwoResults) {
  EXPECT_EQ(Run({"old-0-0", "results/old-0-1"}), 0) << err_.str();
  EXPECT_EQ(out_.str(),
            R"(matmul fp16 m=4096,n=4096,k=4096, cold, on gpu0 (NVIDIA H200)
   result   implementation              time  verdict
a  old-0-0  cublas          190.1 us +-0.21%  VALID
b  old-0-1  cuda/naive      190.1 us +-0.21%  VALID
a is faster than b: a has 1.32x [1.31, 1.32] the speed of b (compared round by round;
  differences up to 1.00% do not matter).
)");
  ASSERT_EQ(fake_.results.compared.size(), 1u);
  EXPECT_EQ(fake_.results.compared[0].pairs(0).a(), "results/old-0-0");
  EXPECT_EQ(fake_.results.compared[0].pairs(0).b(), "results/old-0-1");
  EXPECT_TRUE(fake_.jobs.submitted.empty());
}

TEST_F(CompareTest, MarginAndForceAreSent) {
  EXPECT_EQ(Run({"old-0-0", "old-0-1", "--margin", "2%", "--force"}), 0);
  EXPECT_DOUBLE_EQ(fake_.results.compared[0].margin_ratio(), 0.02);
  EXPECT_TRUE(fake_.results.compared[0].force());
}

TEST_F(CompareTest, FailOn) {
  EXPECT_EQ(Run({"old-0-0", "old-0-1", "--fail-on", "faster:3%"}), 3);
  EXPECT_EQ(Run({"old-0-0", "old-0-1", "--fail-on", "slower:3%"}), 0);
  EXPECT_EQ(Run({"old-0-0", "old-0-1", "--fail-on", "faster:31.5%"}), 8);
}

TEST_F(CompareTest, ARefusalSaysWhy) {
  Answer(R"(verdict: "inconclusive" reasons: "NOT_COMPARABLE" message: "driver 1 against 2")");
  EXPECT_EQ(Run({"old-0-0", "old-0-1"}), 2);
  EXPECT_EQ(err_.str(),
            "kbench-client: not comparable: driver 1 against 2; --force compares all the same\n");
  EXPECT_THAT(out_.str(), HasSubstr("Not compared."));
  fake_.results.results[1].mutable_case_()->set_mode("hot");
  EXPECT_EQ(Run({"old-0-0", "old-0-1"}), 2);
  EXPECT_EQ(err_.str(), "kbench-client: not comparable: driver 1 against 2\n")
      << "no force helps where modes differ";
}

TEST_F(CompareTest, WithoutATimeThereIsABadOutcome) {
  Answer(R"(verdict: "inconclusive" reasons: "NO_NUMBER" message: "b has no time")");
  EXPECT_EQ(Run({"old-0-0", "old-0-1"}), 1);
}

TEST_F(CompareTest, AnUnknownResultIsNamed) {
  EXPECT_EQ(Run({"old-0-0", "old-0-9"}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("there is no result results/old-0-9"));
}

TEST_F(CompareTest, WrongUseIsOneLine) {
  const std::pair<std::vector<std::string>, const char*> kWrong[] = {
      {{"one"}, "takes two results, or KERNEL DTYPE SIZE, not 1 word"},
      {{"a", "b", "c", "d"}, "not 4 words"},
      {{"a", "b", "--impl", "x"}, "--impl goes with KERNEL DTYPE SIZE"},
      {{"a-0-0", "b-0-0", "--mode", "hot"}, "--mode goes with KERNEL DTYPE SIZE"},
      {{"a-0-0", "b-0-0", "--device", "x"}, "--device goes with KERNEL DTYPE SIZE"},
      {{"a-0-0", "b-0-0", "--quick"}, "--quick goes with KERNEL DTYPE SIZE"},
      {{"a-0-0", "results/a-0-0"}, "a-0-0 is the same result twice"},
      {{"sum", "fp32"}, "or KERNEL DTYPE SIZE; sum is no name of a result"},
      {{"a-0-0", "jobs/b"}, "jobs/b is no name of a result"},
      {{"sum", "fp32", "1", "--impl", "x,x"}, "--impl: x is the same implementation twice"},
      {{"a", "b", "--with-history"}, "--with-history goes with KERNEL DTYPE SIZE"},
      {{"sum", "fp32", "1", "--impl", "x"}, "takes two implementations, --impl X,Y, or one"},
      {{"sum", "fp32", "1"}, "with --with-history, not 0"},
      {{"sum", "fp32", "1", "--impl", "x,y", "--with-history"}, "takes one implementation"},
      {{"sum", "fp32", "1", "--impl", "x,y", "--env", "a,b"}, "--env goes with one implementation"},
      {{"sum", "fp32", "1", "--impl", "x@a", "--env", "a,b"}, "--env goes with one implementation"},
      {{"sum", "fp32", "1", "--impl", "x", "--env", "a"}, "takes two implementations"},
      {{"sum", "fp32", "1", "--impl", "x", "--env", "a,a"}, "x@a is the same implementation twice"},
      {{"a-0-0", "b-0-0", "--env", "a"}, "--env goes with KERNEL DTYPE SIZE"},
      {{"a-0-0", "b-0-0", "--fail-on", "slow"}, "'slow' is not WORD:RATIO"},
      {{"a-0-0", "b-0-0", "--margin", "big"}, "margin: 'big' is not a margin"},
      {{"a", "b", "-o", "yaml"}, "yaml"},
  };
  for (const auto& [arguments, says] : kWrong) {
    EXPECT_EQ(Run(arguments), 2) << says;
    EXPECT_THAT(err_.str(), HasSubstr(says));
    const std::string text = err_.str();
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  }
  EXPECT_TRUE(fake_.jobs.submitted.empty());
}

TEST_F(CompareTest, TwoImplementationsAreMeasured) {
  EXPECT_EQ(Run({"matmul", "fp16", "4096", "--impl", "cuda,cublas", "--quick"}), 0) << err_.str();
  ASSERT_EQ(fake_.jobs.submitted.size(), 1u);
  const auto& spec = fake_.jobs.submitted[0].spec();
  EXPECT_EQ(spec.cases(0).size(), "4096");
  EXPECT_DOUBLE_EQ(spec.policy().target_ratio(), 0.02);
  EXPECT_THAT(spec.implementations(), ::testing::ElementsAre("cuda", "cublas"));
  EXPECT_EQ(fake_.results.compared[0].pairs(0).a(), "results/new-0-1") << "the family's only one";
  EXPECT_EQ(fake_.results.compared[0].pairs(0).b(), "results/new-0-0");
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("a  new-0-1  cuda/naive"), HasSubstr("b  new-0-0")));
}

TEST_F(CompareTest, OneImplementationInTwoEnvironments) {
  PrepareJob("results {" + Row("new-0-0", "torch/flash") + "} results {" +
             Row("new-0-1", "torch/flash@torch211") + "}");
  EXPECT_EQ(Run({"matmul", "fp16", "4096", "--impl", "torch", "--env", "default,torch211"}), 0)
      << err_.str();
  const auto& spec = fake_.jobs.submitted[0].spec();
  EXPECT_THAT(spec.implementations(), ::testing::ElementsAre("torch", "torch@torch211"));
  EXPECT_EQ(spec.environments_size(), 0) << "the names say it";
  EXPECT_EQ(fake_.results.compared[0].pairs(0).a(), "results/new-0-0");
  EXPECT_EQ(fake_.results.compared[0].pairs(0).b(), "results/new-0-1");
}

TEST_F(CompareTest, AWordForSeveralIsNotCompared) {
  PrepareJob("results {" + Row("new-0-0", "cuda/a") + "} results {" + Row("new-0-1", "cuda/b") +
             "} results {" + Row("new-0-2", "cublas") + "}");
  EXPECT_EQ(Run({"matmul", "fp16", "4096", "--impl", "cuda,cublas"}), 1);
  EXPECT_THAT(err_.str(), HasSubstr("cuda is not one implementation here; name it whole"));
  EXPECT_THAT(out_.str(), IsEmpty());
}

TEST_F(CompareTest, AWordForSeveralIsRefusedBeforeAnythingRuns) {
  fake_.devices.devices = Parse<kbench::v1::ListDevicesResponse>(R"(
    devices { name: "gpu0" kind: "cuda"
      implementations { name: "cublas" family: "cublas" kernel: "matmul" dtypes: "fp16" }
      implementations { name: "cuda/a" family: "cuda" kernel: "matmul" dtypes: "fp16" }
      implementations { name: "cuda/b" family: "cuda" kernel: "matmul" dtypes: "fp32" }
      implementations { name: "torch/math" family: "torch" kernel: "matmul" dtypes: "fp16"
                        environment: "default" }
      implementations { name: "torch/math@old" family: "torch" kernel: "matmul" dtypes: "fp16"
                        environment: "old" }
      implementations { name: "torch/flash@old" family: "torch" kernel: "matmul" dtypes: "fp16"
                        environment: "old" } }
    devices { name: "cpu" kind: "cpu"
      implementations { name: "cpu/naive" family: "cpu" kernel: "matmul" dtypes: "fp16" }
      implementations { name: "cpu/onednn" family: "cpu" kernel: "matmul" dtypes: "fp16" } })");
  const auto refused = [&](const std::string& words, const std::string& says) {
    EXPECT_EQ(Run({"matmul", "fp16", "4096", "--impl", words}), 2);
    EXPECT_THAT(err_.str(), HasSubstr(says));
    EXPECT_TRUE(fake_.jobs.submitted.empty()) << words;
  };
  refused("cpu,cpu/onednn",
          "cpu stands for 2 implementations of matmul fp16; name one of cpu/naive, cpu/onednn");
  refused("all,cublas", "all stands for 5 implementations");
  refused("cuda,cuda/a", "cuda and cuda/a are the same implementation twice: cuda/a");
  refused("torch@old,cublas", "torch@old stands for 2 implementations");
  refused("torch,torch/math", "torch and torch/math are the same implementation twice");
  EXPECT_EQ(Run({"matmul", "fp16", "4096", "--impl", "cuda,cublas"}), 0) << "one of fp16";
  EXPECT_EQ(fake_.jobs.submitted.size(), 1u);
}

TEST_F(CompareTest, NowAgainstHistory) {
  auto& results = fake_.results.results;
  const auto add = [&](const std::string& name, const std::string& text) {
    results.push_back(Parse<kbench::v1::Result>(Row(name, "cublas")));
    results.back().MergeFrom(Parse<kbench::v1::Result>(text));
  };
  results.clear();
  add("new-0-0", "");                        // this job's own
  add("hot-0-0", "case { mode: \"hot\" }");  // another mode
  add("dirty-0-0", "policy { flush: \"dirty\" }");
  add("doubt-0-0", "verdict: VERDICT_SUSPECT");
  add("good-0-0", "policy { flush: \"clean\" }");
  add("older-0-0", "");
  EXPECT_EQ(Run({"matmul", "fp16", "4096", "--impl", "cublas", "--with-history", "--fail-on",
                 "slower:3%"}),
            0)
      << err_.str();
  EXPECT_EQ(fake_.results.compared[0].pairs(0).a(), "results/new-0-0");
  EXPECT_EQ(fake_.results.compared[0].pairs(0).b(), "results/good-0-0");
  const auto& listed = fake_.results.listed[0];
  EXPECT_EQ(listed.kernel(), "matmul");
  EXPECT_EQ(listed.implementation(), "cublas");
  EXPECT_EQ(listed.device(), "gpu0");
  EXPECT_EQ(listed.shape(), "m=4096,n=4096,k=4096");
}

TEST_F(CompareTest, WithoutHistoryItIsInconclusive) {
  fake_.results.results.clear();
  EXPECT_EQ(Run({"matmul", "fp16", "4096", "--impl", "cublas", "--with-history"}), 8);
  EXPECT_THAT(err_.str(), HasSubstr("there is no earlier VALID result of cublas"));
}

TEST_F(CompareTest, OtherFormats) {
  EXPECT_EQ(Run({"old-0-0", "old-0-1", "-o", "json"}), 0);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr(R"({"compared":{"a":{"name":"results/old-0-0")"),
                                HasSubstr(R"("comparison":{"baseline":"results/old-0-1")")));
  EXPECT_EQ(Run({"old-0-0", "old-0-1", "-o", "csv"}), 0);
  EXPECT_THAT(out_.str(),
              AllOf(HasSubstr("a,b,kernel,"),
                    HasSubstr("\r\nold-0-0,old-0-1,matmul,fp16,\"m=4096,n=4096,k=4096\",cold,"
                              "cublas,cuda/naive,gpu0,gpu0,0.0001901,0.0001901,1.316,1.309,1.323,"
                              "faster,0.01,0.0078,,true,,\r\n")));
  EXPECT_EQ(Run({"old-0-0", "old-0-1", "-o", "markdown"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("| cublas | cuda/naive | 190.1 us +-0.21% | 190.1 us +-0.21% "
                                    "| 1.32x [1.31, 1.32] faster |\n"));
}

TEST(ComparisonSentence, EveryVerdict) {
  const auto sentence = [](const std::string& text) {
    return ComparisonSentence(Parse<kbench::v1::BaselineComparison>(text));
  };
  EXPECT_EQ(
      sentence("verdict: \"equivalent\" speedup: 1 low: 0.999 high: 1.001 margin_ratio: 0.01"),
      "a and b are equivalent: a has 1.00x [0.999, 1.00] the speed of b (measured apart; "
      "differences up to 1.00% do not matter).");
  EXPECT_THAT(sentence("verdict: \"inconclusive\" speedup: 1.01"),
              HasSubstr("Inconclusive: a has"));
  EXPECT_EQ(sentence("verdict: \"inconclusive\""), "Not compared.");
}

}  // namespace
}  // namespace kbench::client
