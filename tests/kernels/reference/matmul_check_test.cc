#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/reference/random.h"
#include "tests/kernels/reference/checks.h"

namespace kbench::reference {
namespace {

using testing::HasSubstr;

float RoundToHalf(float value) { return HalfBitsToFloat(FloatToHalfBits(value)); }

constexpr char kLarge[] = "1100x1100x40";  // more elements than a full reference keeps

TEST(MatmulCheck, FullIsSoundInEveryTypeAndLayout) {
  for (const char* dtype : {"fp64", "fp32", "tf32", "fp16", "bf16", "fp8e4m3", "int8"}) {
    ExpectSoundChecks(Make("matmul", dtype, "65x130x300"), "full");
  }
  for (const char* layout : {"nt", "tn", "tt"}) {
    ExpectSoundChecks(Make("matmul", "fp32", std::string("33x17x270,layout=") + layout), "full");
  }
}

TEST(MatmulCheck, OddShapesAreSound) {
  for (const char* size : {"1", "1x1x1000", "1x3000x17", "3000x1x17", "257x16x1", "300x513x5"}) {
    const Problem problem = Make("matmul", "fp32", size);
    const CheckResult result = CheckValues(problem, 3, Compute(problem, 3));
    EXPECT_TRUE(result.passed) << size << ": " << result.message;
    EXPECT_EQ(result.method, "full");
  }
}

TEST(MatmulCheck, SampledIsSound) {
  for (const char* dtype : {"fp64", "bf16", "fp8e4m3", "int8"}) {
    ExpectSoundChecks(Make("matmul", dtype, kLarge), "random-vectors");
  }
  ExpectSoundChecks(Make("matmul", "fp32", "1030x1100x33,layout=tt"), "random-vectors");
  ExpectSoundChecks(Make("matmul", "fp32", "2000x3x3000,layout=nt"), "full");
  ExpectSoundChecks(Make("matmul", "fp32", "140000x8x30"), "random-vectors");
  ExpectSoundChecks(Make("matmul", "fp32", "2x600000x20"), "random-vectors");
}

// The part of the error that C x shows is the whole of it.
TEST(MatmulCheck, SampledEstimatesTheFrobeniusError) {
  const Problem problem = Make("matmul", "fp16", kLarge);
  std::vector<double> values = Compute(problem, 1);
  double square = 0, error = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double off = 0.02 * std::sin(static_cast<double>(i * i % 1000003));
    square += values[i] * values[i];
    error += off * off;
    values[i] += off;
  }
  const CheckResult result = CheckValues(problem, 1, values);
  EXPECT_FALSE(result.passed);
  const double expected = std::sqrt(error / square);
  EXPECT_NEAR(result.relative_error / expected, 1, 0.1);
}

TEST(MatmulCheck, FindsOneWrongElement) {
  for (const char* size : {"700", kLarge}) {
    const Problem problem = Make("matmul", "fp32", size);
    std::vector<double> values = Compute(problem, 1);
    const std::size_t n = static_cast<std::size_t>(problem.shape["n"]);
    values[123 * n + 45] += 1;
    const CheckResult result = CheckValues(problem, 1, values);
    EXPECT_FALSE(result.passed);
    EXPECT_EQ(result.reason, "TOLERANCE");
    EXPECT_THAT(result.message, HasSubstr("row 123"));
  }
}

TEST(MatmulCheck, IntegersAreRightOrWrong) {
  for (const char* size : {"700", kLarge}) {
    const Problem problem = Make("matmul", "int8", size);
    std::vector<double> values = Compute(problem, 1);
    CheckResult result = CheckValues(problem, 1, values);
    EXPECT_TRUE(result.passed) << result.message;
    EXPECT_EQ(result.relative_error, 0);
    EXPECT_EQ(result.tolerance, 0);
    values[123 * static_cast<std::size_t>(problem.shape["n"]) + 45] += 1;
    result = CheckValues(problem, 1, values);
    EXPECT_EQ(result.reason, "TOLERANCE");
    EXPECT_THAT(result.message, HasSubstr("row 123"));
  }
}

TEST(MatmulCheck, FindsOneWrongRow) {
  for (const char* size : {"600", kLarge}) {
    for (const char* dtype : {"fp16", "bf16"}) {
      const Problem problem = Make("matmul", dtype, size);
      std::vector<double> values = Compute(problem, 1);
      const auto n = static_cast<std::ptrdiff_t>(problem.shape["n"]);
      std::copy(values.begin() + 7 * n, values.begin() + 8 * n, values.begin() + 77 * n);
      const CheckResult result = CheckValues(problem, 1, values);
      EXPECT_FALSE(result.passed);
      EXPECT_EQ(result.reason, "TOLERANCE");
      EXPECT_THAT(result.message, HasSubstr("row 77"));
    }
  }
}

TEST(MatmulCheck, RefusesATransposedOutput) {
  for (const char* size : {"300", "1100x1100x20"}) {
    const Problem problem = Make("matmul", "fp16", size);
    const std::vector<double> values = Compute(problem, 1);
    std::vector<double> turned(values.size());
    const std::size_t n = static_cast<std::size_t>(problem.shape["n"]);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) turned[j * n + i] = values[i * n + j];
    }
    const CheckResult result = CheckValues(problem, 1, turned);
    EXPECT_FALSE(result.passed);
    EXPECT_EQ(result.reason, "TOLERANCE");
  }
}

TEST(MatmulCheck, NamesATf32ProductUnderAnFp32Label) {
  for (const char* size : {"128x128x256", "64x64x4096", "1100x1100x256"}) {
    const Problem fp32 = Make("matmul", "fp32", size), tf32 = Make("matmul", "tf32", size);
    for (const auto& see : {RoundToTf32, TruncateToTf32}) {
      const std::vector<double> values = Compute(fp32, 1, see);
      const CheckResult result = CheckValues(fp32, 1, values);
      EXPECT_FALSE(result.passed) << size;
      EXPECT_EQ(result.reason, "MATH_MODE_MISMATCH") << size << " " << result.message;
      EXPECT_TRUE(CheckValues(tf32, 1, values).passed) << size;
    }
  }
}

// A bf16 product is no TF32 product.
TEST(MatmulCheck, RefusesBf16ProductsUnderATf32Label) {
  const Problem problem = Make("matmul", "tf32", "256");
  const auto see = [](double value) {
    return std::round(value * 256) / 256;  // 8 bits for values near 1
  };
  EXPECT_EQ(CheckValues(problem, 1, Compute(problem, 1, see)).reason, "TOLERANCE");
}

// The serial fp32 accumulator of a plain loop is right; an fp16 one is not.
TEST(MatmulCheck, AcceptsASerialFp32AccumulatorOnly) {
  const Problem problem = Make("matmul", "fp32", "40x50x4096");
  const Problem half = Make("matmul", "fp16", "40x50x4096");
  std::vector<double> serial(2000), narrow(2000);
  for (std::size_t i = 0; i < 40; ++i) {
    for (std::size_t j = 0; j < 50; ++j) {
      float sum = 0, half_sum = 0;
      for (std::size_t p = 0; p < 4096; ++p) {
        const float a = UniformAt(1, 0, i * 4096 + p), b = UniformAt(1, 1, p * 50 + j);
        sum += a * b;
        half_sum = RoundToHalf(half_sum + RoundToHalf(a) * RoundToHalf(b));
      }
      serial[i * 50 + j] = sum;
      narrow[i * 50 + j] = half_sum;
    }
  }
  EXPECT_TRUE(CheckValues(problem, 1, serial).passed);
  EXPECT_EQ(CheckValues(half, 1, narrow).reason, "TOLERANCE");
}

}  // namespace
}  // namespace kbench::reference
