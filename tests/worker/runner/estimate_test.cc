// The estimate of one launch from smaller problems, on a machine that stalls and on one that does
// not.
#include "worker/runner/estimate.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "kernels/catalog/catalog.h"

namespace kbench {
namespace {

// Seconds that one launch of so much work takes.
double (*seconds_of_work)(double work);

class SleepingInstance final : public Instance {
 public:
  explicit SleepingInstance(double seconds) : seconds_(seconds) {}
  int Launch(void*) noexcept override {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds_));
    return 0;
  }

 private:
  double seconds_;
};

Implementation Sleeping() {
  Implementation implementation;
  implementation.name = "test/sleeping";
  implementation.kernel = "matmul";
  implementation.dtypes = {DType::kFp32};
  implementation.create =
      [](const Problem& problem, const OperandPointers&,
         const DeviceContext&) -> Expected<std::unique_ptr<Instance>, ImplementationError> {
    return std::unique_ptr<Instance>(new SleepingInstance(seconds_of_work(Work(problem))));
  };
  return implementation;
}

class EstimateTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char error[256] = "";
    ASSERT_EQ(kb_open("cpu", 1, &engine_, error, sizeof(error)), KB_OK) << error;
  }
  void TearDown() override { kb_close(engine_); }

  std::optional<double> Estimate(const char* size, double limit,
                                 const Implementation& implementation = Sleeping()) {
    const Problem problem = MakeProblem("matmul", "fp32", size, "cold").value();
    CaseOptions options;
    options.flush = "none";
    options.seed = 1;
    options.threads = 1;
    v1::RunnerFailure failure;
    const auto estimate =
        EstimateLaunch(engine_, implementation, problem, options, true, limit, &failure);
    EXPECT_EQ(failure.message(), "");
    return estimate;
  }

  kb_engine* engine_ = nullptr;
};

TEST_F(EstimateTest, AnHonestLoopIsScaledByItsWork) {
  seconds_of_work = [](double work) { return work / 1e8; };
  const auto estimate = Estimate("4096", 1);  // 137 GFLOP
  ASSERT_TRUE(estimate);
  EXPECT_NEAR(*estimate, 1374, 0.1 * 1374);
}

TEST_F(EstimateTest, ShortWorkIsNotEstimated) {
  seconds_of_work = [](double work) { return work / 1e8; };
  EXPECT_FALSE(Estimate("64", 5));
}

TEST_F(EstimateTest, AStalledMachineMakesNoLongEstimate) {
  // Small problems meet a machine that stands still for 0.2 s a call: a hundred times what the work
  // would take. Scaled up it would read 3,400 s.
  seconds_of_work = [](double work) { return work < 3e6 ? 0.2 : work / 1e10; };
  const auto estimate = Estimate("2048", 5);  // 17 GFLOP
  ASSERT_TRUE(estimate);
  EXPECT_LT(*estimate, 5);
}

// Tensor cores want rows of 16 bytes: the smaller problems have them where the large one does.
TEST_F(EstimateTest, AnImplementationThatWantsAlignedRowsIsEstimated) {
  seconds_of_work = [](double work) { return work / 1e8; };
  Implementation picky = Sleeping();
  picky.unsupported = [](const Problem& problem) -> std::optional<std::string> {
    for (const auto& [dim, extent] : problem.shape.dims) {
      if (extent % 16 != 0) return dim + " must be a multiple of 16";
    }
    return std::nullopt;
  };
  const auto estimate = Estimate("4096", 1, picky);
  ASSERT_TRUE(estimate);
  EXPECT_NEAR(*estimate, 1374, 0.1 * 1374);
}

// Then the launch itself is the answer.
TEST_F(EstimateTest, WhatTakesNoSmallerProblemHasNoEstimate) {
  seconds_of_work = [](double work) { return work / 1e8; };
  Implementation proud = Sleeping();
  proud.unsupported = [](const Problem& problem) -> std::optional<std::string> {
    if (problem.shape["m"] == 4096) return std::nullopt;
    return "m must be 4096";
  };
  EXPECT_FALSE(Estimate("4096", 1, proud));
  Implementation refusing = Sleeping();
  refusing.create =
      [](const Problem&, const OperandPointers&,
         const DeviceContext&) -> Expected<std::unique_ptr<Instance>, ImplementationError> {
    return ImplementationError{ImplementationError::Kind::kUnsupported, "too small", 0};
  };
  EXPECT_FALSE(Estimate("4096", 1, refusing));
}

}  // namespace
}  // namespace kbench
