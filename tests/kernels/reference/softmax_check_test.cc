#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/kernels/reference/checks.h"

namespace kbench::reference {
namespace {

using testing::HasSubstr;

TEST(SoftmaxCheck, IsSoundInEveryType) {
  for (const char* dtype : {"fp64", "fp32", "fp16", "bf16"}) {
    ExpectSoundChecks(Make("softmax", dtype, "37x1500"), "full");
  }
}

TEST(SoftmaxCheck, OddShapesAreSound) {
  for (const char* size : {"1x2", "1000x3", "5x1024", "3x1025", "1x100000", "4097x17"}) {
    ExpectSoundChecks(Make("softmax", "fp32", size), "full");
  }
  const Problem one = Make("softmax", "fp32", "500x1");
  EXPECT_TRUE(CheckValues(one, 1, std::vector<double>(500, 1.0)).passed);
  EXPECT_FALSE(CheckValues(one, 1, std::vector<double>(500, 0.5)).passed);
}

// Probabilities of long rows are subnormal in fp16, and still checked.
TEST(SoftmaxCheck, LongRowsInFp16AreSound) {
  ExpectSoundChecks(Make("softmax", "fp16", "2x100000"), "full");
  const Problem longest = Make("softmax", "fp16", "1x2^20");
  EXPECT_TRUE(CheckValues(longest, 1, Compute(longest, 1)).passed);
  EXPECT_FALSE(CheckValues(longest, 1, std::vector<double>(1 << 20, 0.0)).passed);
}

TEST(SoftmaxCheck, SampledIsSound) {
  ExpectSoundChecks(Make("softmax", "fp32", "300000x3"), "rows");
}

TEST(SoftmaxCheck, FindsOneWrongElementAndNamesIt) {
  const Problem problem = Make("softmax", "fp16", "100x2000");
  std::vector<double> values = Compute(problem, 1);
  values[55 * 2000 + 1999] *= 1.05;
  const CheckResult result = CheckValues(problem, 1, values);
  EXPECT_EQ(result.reason, "TOLERANCE");
  EXPECT_THAT(result.message, HasSubstr("row 55, column 1999"));
}

// A row that is not sampled is caught by its sum.
TEST(SoftmaxCheck, FindsARowThatDoesNotSumToOne) {
  const Problem problem = Make("softmax", "fp32", "300000x3");
  std::vector<double> right = Compute(problem, 1);
  int caught = 0;
  for (std::size_t row : {1u, 33333u, 200001u, 299998u}) {
    std::vector<double> values = right;
    for (std::size_t j = 0; j < 3; ++j) values[row * 3 + j] *= 1.001;
    const CheckResult result = CheckValues(problem, 1, values);
    EXPECT_EQ(result.reason, "TOLERANCE");
    EXPECT_THAT(result.message, HasSubstr("row " + std::to_string(row)));
    caught += result.message.find("sum is not 1") != std::string::npos;
  }
  EXPECT_GE(caught, 1);
}

}  // namespace
}  // namespace kbench::reference
