// The tuner over the real engine on the CPU and an implementation that can be told how to be.
#include "worker/tuning/tuner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <stdexcept>
#include <thread>

#include "kernels/catalog/catalog.h"

namespace kbench::tuning {
namespace {

using ::testing::HasSubstr;

// Where the trials wrote.
std::set<void*> outputs;

class Candidate final : public Instance {
 public:
  Candidate(const OperandPointers& operands, std::string kind)
      : operands_(operands), kind_(std::move(kind)) {}
  int Launch(void*) noexcept override {
    outputs.insert(operands_.output);
    *static_cast<float*>(operands_.output) = 7;  // wrong: nobody asks a trial for the truth
    if (kind_ == "fails") return 5;
    const double milliseconds = kind_ == "fast" ? 1 : kind_ == "slow" ? 4 : 2;
    std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(milliseconds));
    return 0;
  }

 private:
  const OperandPointers operands_;
  const std::string kind_;
};

Implementation Choosy() {
  Implementation implementation;
  implementation.name = "test/choosy";
  implementation.kernel = "sum";
  implementation.dtypes = {DType::kFp32};
  implementation.create =
      [](const Problem&, const OperandPointers& operands,
         const DeviceContext& context) -> Expected<std::unique_ptr<Instance>, ImplementationError> {
    if (context.candidate == "refused") {
      return ImplementationError{ImplementationError::Kind::kUnsupported, "not this shape", 0};
    }
    if (context.candidate == "throws") throw std::runtime_error("thrown on purpose");
    return std::unique_ptr<Instance>(new Candidate(operands, context.candidate));
  };
  return implementation;
}

class TunerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    outputs.clear();
    char error[256] = "";
    ASSERT_EQ(kb_open("cpu", 1, &engine_, error, sizeof(error)), KB_OK) << error;
  }
  void TearDown() override { kb_close(engine_); }

  void Open(const char* mode = "cold", std::int64_t memory_limit = 0) {
    kb_case spec{};
    spec.kernel = "sum";
    spec.dtype = "fp32";
    spec.shape = "n=1000";
    spec.mode = mode;
    spec.seed = 1;
    spec.memory_limit_bytes = memory_limit;
    ASSERT_EQ(kb_case_open(engine_, &spec), KB_OK) << kb_error(engine_);
  }
  Tuned TuneAmong(const std::vector<std::string>& candidates, double max_seconds = 5) {
    const Problem problem = MakeProblem("sum", "fp32", "1000", "cold").value();
    return Tune(engine_, Choosy(), problem, candidates, 1, max_seconds);
  }
  void* Output() const {
    void* data = nullptr;
    kb_operand(engine_, 1, &data, nullptr, nullptr);
    return data;
  }

  kb_engine* engine_ = nullptr;
};

TEST_F(TunerTest, TheFastestIsTakenAndTheOutputIsLeftAlone) {
  for (const char* mode : {"cold", "hot", "steady"}) {
    SCOPED_TRACE(mode);
    outputs.clear();
    Open(mode);
    const Tuned tuned = TuneAmong({"middle", "slow", "fast", "middle"});
    EXPECT_EQ(tuned.candidate, "fast");
    EXPECT_EQ(tuned.timed, 4);
    EXPECT_GT(tuned.seconds, 0.01);
    EXPECT_EQ(tuned.note, "");
    EXPECT_FALSE(tuned.device_lost);
    EXPECT_EQ(outputs.size(), 1u);
    EXPECT_EQ(outputs.count(Output()), 0u);
    EXPECT_EQ(*static_cast<const std::uint32_t*>(Output()), 0xffffffffu) << "still poisoned";
    kb_case_close(engine_);
  }
}

TEST_F(TunerTest, ACandidateThatFailsOnlyLosesItself) {
  Open();
  const Tuned tuned = TuneAmong({"refused", "fails", "throws", "slow", "middle"});
  EXPECT_EQ(tuned.candidate, "middle");
  EXPECT_EQ(tuned.timed, 2);
}

TEST_F(TunerTest, WhereAllFailTheNoteSaysHowTheLastOneDid) {
  Open();
  const Tuned tuned = TuneAmong({"fails", "refused"});
  EXPECT_EQ(tuned.candidate, "");
  EXPECT_EQ(tuned.note, "candidate refused: not this shape");
}

TEST_F(TunerTest, WithoutMemoryForAScratchOutputNothingIsTried) {
  Open("cold", 4000 + 4 + 4 * 4096);  // the operands and their guards, not a byte more
  const Tuned tuned = TuneAmong({"slow", "fast"});
  EXPECT_EQ(tuned.candidate, "");
  EXPECT_THAT(tuned.note, HasSubstr("a scratch output needs 8196 bytes and 0 are free"));
  EXPECT_TRUE(outputs.empty());
}

TEST_F(TunerTest, AfterItsTimeNoFurtherCandidateIsTried) {
  Open();
  // The first one takes 8 ms: a call and a sample.
  const Tuned tuned = TuneAmong({"slow", "middle", "fast"}, 7e-3);
  EXPECT_EQ(tuned.candidate, "slow");
  EXPECT_EQ(tuned.timed, 1);
  EXPECT_FALSE(tuned.decided) << "the others may be faster";
}

TEST_F(TunerTest, WithoutACaseThereIsNoScratch) {
  void* data = nullptr;
  EXPECT_EQ(kb_scratch_open(engine_, &data), KB_INVALID_ARGUMENT);
  kb_scratch_close(engine_);
  EXPECT_EQ(TuneAmong({"fast"}).candidate, "");
}

}  // namespace
}  // namespace kbench::tuning
