#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/reference/convert.h"
#include "tests/kernels/reference/checks.h"

namespace kbench::reference {
namespace {

using testing::HasSubstr;

float AsStored(DType dtype, float value) {
  if (dtype == DType::kFp16) return HalfBitsToFloat(FloatToHalfBits(value));
  if (dtype == DType::kBf16) return Bf16BitsToFloat(FloatToBf16Bits(value));
  return value;
}

// The steps launched one by one: each rounds to the storage type. All but step `without`.
std::vector<double> OneByOne(const Problem& problem, std::vector<double> x, int without = -1) {
  for (double& element : x) {
    float y = static_cast<float>(element);
    for (int step = 0; step < problem.shape["depth"]; ++step) {
      if (step == without) continue;
      if (step % 5 == 0) y = y * 1.25f;
      if (step % 5 == 1) y = y + 0.375f;
      if (step % 5 == 2 && y < 0) y = y * 0.75f;
      if (step % 5 == 3) y = y * 0.875f;
      if (step % 5 == 4) y = 0.5f - y;
      y = AsStored(problem.dtype, y);
    }
    element = y;
  }
  return x;
}

// The input of a chain is that of a copy.
std::vector<double> Inputs(const Problem& problem) {
  return Compute(Make("copy", Info(problem.dtype).name, std::to_string(problem.shape["n"])), 1);
}

TEST(ChainCheck, IsSoundInEveryType) {
  for (const char* dtype : {"fp32", "fp16", "bf16"}) {
    for (const char* size : {"10007", "1Mi,depth=1", "70001,depth=64", "9"}) {
      ExpectSoundChecks(Make("chain", dtype, size), "full");
    }
  }
}

TEST(ChainCheck, LooksAtPiecesOfManyElements) {
  const Problem problem = Make("chain", "fp16", "34Mi,depth=3");
  ExpectSoundChecks(problem, "pieces");
}

TEST(ChainCheck, TakesStepsRoundedOneByOne) {
  for (const char* dtype : {"fp32", "fp16", "bf16"}) {
    for (const char* size :
         {"1", "2", "3", "5", "7", "16", "17", "100", "2Mi", "200001,depth=64", "50001,depth=15",
          "1,depth=64", "3,depth=64", "5,depth=60", "50001,depth=4"}) {
      const Problem problem = Make("chain", dtype, size);
      const CheckResult result = CheckValues(problem, 1, OneByOne(problem, Inputs(problem)));
      EXPECT_TRUE(result.passed) << dtype << " " << size << ": " << result.message;
    }
  }
}

TEST(ChainCheck, MissesNoStepThatWasLeftOut) {
  for (const char* dtype : {"fp32", "fp16", "bf16"}) {
    for (const char* size : {"20001", "20001,depth=64", "20001,depth=1"}) {
      const Problem problem = Make("chain", dtype, size);
      const std::vector<double> inputs = Inputs(problem);
      for (int step = 0; step < problem.shape["depth"]; ++step) {
        EXPECT_FALSE(CheckValues(problem, 1, OneByOne(problem, inputs, step)).passed)
            << dtype << " " << size << " without step " << step;
      }
    }
  }
}

TEST(ChainCheck, FindsOneWrongElement) {
  const Problem problem = Make("chain", "fp16", "200003");
  std::vector<double> values = Compute(problem, 1);
  values[123456] += 0.05;
  const CheckResult result = CheckValues(problem, 1, values);
  EXPECT_EQ(result.reason, "TOLERANCE");
  EXPECT_THAT(result.message, HasSubstr("element 123456"));
}

}  // namespace
}  // namespace kbench::reference
