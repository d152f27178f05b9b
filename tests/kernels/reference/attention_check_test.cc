#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/kernels/reference/checks.h"

namespace kbench::reference {
namespace {

using testing::HasSubstr;

TEST(AttentionCheck, IsSoundInEveryType) {
  for (const char* dtype : {"fp32", "tf32", "fp16", "bf16"}) {
    ExpectSoundChecks(Make("attention", dtype, "2x3x130x40"), "full");
  }
}

TEST(AttentionCheck, CausalGroupedAndOddShapesAreSound) {
  for (const char* size : {"b=1,h=2,s=113,d=64,causal", "b=2,h=8,s=70,d=16,hkv=2",
                           "b=1,h=4,s=65,d=32,hkv=1,causal", "1x1x2x8", "1x3x17x5", "3x1x200x1"}) {
    ExpectSoundChecks(Make("attention", "fp32", size), "full");
  }
}

TEST(AttentionCheck, SampledIsSound) {
  ExpectSoundChecks(Make("attention", "fp16", "b=256,h=16,s=16,d=17,hkv=4,causal"), "rows");
  ExpectSoundChecks(Make("attention", "fp32", "64x16x40x32"), "rows");
}

TEST(AttentionCheck, CausalAndFullAreNotTakenForEachOther) {
  const Problem full = Make("attention", "fp16", "1x2x100x32");
  const Problem causal = Make("attention", "fp16", "1x2x100x32,causal");
  EXPECT_FALSE(CheckValues(full, 1, Compute(causal, 1)).passed);
  EXPECT_FALSE(CheckValues(causal, 1, Compute(full, 1)).passed);
}

TEST(AttentionCheck, FindsOneWrongRowAndNamesIt) {
  const Problem problem = Make("attention", "bf16", "2x3x100x32");
  std::vector<double> values = Compute(problem, 1);
  for (std::size_t j = 0; j < 32; ++j) values[((1 * 3 + 2) * 100 + 50) * 32 + j] *= -1;
  const CheckResult result = CheckValues(problem, 1, values);
  EXPECT_EQ(result.reason, "TOLERANCE");
  EXPECT_THAT(result.message, HasSubstr("batch 1, head 2, row 50"));
}

TEST(AttentionCheck, NamesTf32ProductsUnderAnFp32Label) {
  for (const char* size : {"1x2x300x64", "1x2x300x64,causal"}) {
    const Problem fp32 = Make("attention", "fp32", size), tf32 = Make("attention", "tf32", size);
    for (const auto& see : {RoundToTf32, TruncateToTf32}) {
      const std::vector<double> values = Compute(fp32, 1, see);
      EXPECT_EQ(CheckValues(fp32, 1, values).reason, "MATH_MODE_MISMATCH") << size;
      EXPECT_TRUE(CheckValues(tf32, 1, values).passed) << size;
    }
  }
}

// A missing 1/sqrt(d), the classic.
TEST(AttentionCheck, RefusesUnscaledScores) {
  const Problem problem = Make("attention", "fp16", "1x1x200x64");
  int operand = 0;
  const auto see = [&](double value) { return operand++ < 200 * 64 ? value * 8 : value; };
  EXPECT_FALSE(CheckValues(problem, 1, Compute(problem, 1, see)).passed);
}

}  // namespace
}  // namespace kbench::reference
