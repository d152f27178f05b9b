#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/reference/kernel_reference.h"
#include "kernels/reference/random.h"
#include "tests/kernels/reference/checks.h"

namespace kbench::reference {
namespace {

using testing::HasSubstr;

TEST(NullCheck, HasNothingToCheck) {
  auto reference = Reference::ComputeOrLoad(Make("null", "fp32", ""), 1, "", 1);
  ASSERT_TRUE(reference.ok());
  const CheckResult result = (*reference)->Check(nullptr, 1);
  EXPECT_TRUE(result.passed);
  EXPECT_EQ(result.method, "none");
}

TEST(CopyCheck, IsSoundInEveryType) {
  for (const char* dtype : {"fp64", "fp32", "fp16", "bf16", "int8"}) {
    ExpectSoundChecks(Make("copy", dtype, "10007"), "full");
  }
  ExpectSoundChecks(Make("copy", "fp16", "2500001"), "full");
}

TEST(CopyCheck, FindsOneWrongBitAnywhere) {
  for (const char* dtype : {"fp32", "int8"}) {
    const Problem problem = Make("copy", dtype, "1100003");
    auto reference = Reference::ComputeOrLoad(problem, 1, "", 2);
    ASSERT_TRUE(reference.ok());
    std::vector<char> output = Store(problem, Compute(problem, 1));
    for (std::size_t byte : {std::size_t{0}, std::size_t{4097}, output.size() / 2,
                             output.size() - 4, output.size() - 2}) {
      output[byte] = static_cast<char>(output[byte] ^ 1);
      const CheckResult result = (*reference)->Check(output.data(), 2);
      EXPECT_EQ(result.reason, "TOLERANCE") << byte;
      EXPECT_GT(result.relative_error, 0);
      const std::size_t element = byte / Info(problem.dtype).storage_bytes;
      EXPECT_THAT(result.message, HasSubstr("element " + std::to_string(element)));
      output[byte] = static_cast<char>(output[byte] ^ 1);
    }
    EXPECT_TRUE((*reference)->Check(output.data(), 2).passed);
  }
}

TEST(SumCheck, IsSoundInEveryType) {
  for (const char* dtype : {"fp64", "fp32", "fp16", "bf16"}) {
    for (const char* size : {"100", "4096", "2500001"}) {
      ExpectSoundChecks(Make("sum", dtype, size), "full");
    }
  }
  const Problem one = Make("sum", "fp32", "1");
  EXPECT_TRUE(CheckValues(one, 1, Compute(one, 1)).passed);
}

TEST(SumCheck, FindsAMissingBlock) {
  const Problem problem = Make("sum", "fp32", "2^20");
  std::vector<double> values = Compute(problem, 1);
  values[0] *= 1 - 1.0 / 4096;
  EXPECT_EQ(CheckValues(problem, 1, values).reason, "TOLERANCE");
}

// One fp32 accumulator over millions of elements is not a sum; 1024 of them are.
TEST(SumCheck, RefusesASerialAccumulatorOverMillions) {
  const Problem problem = Make("sum", "fp32", "2^25");
  float serial = 0;
  std::vector<float> lanes(1024);
  for (std::uint64_t block = 0; block < (1u << 23); ++block) {
    const PhiloxBlock made = BlockAt(1, 0, block);
    for (unsigned i = 0; i < 4; ++i) {
      const float value = MakePositive(WordToUniform(made.word[i]));
      serial += value;
      lanes[(4 * block + i) % 1024] += value;
    }
  }
  for (std::size_t width = 512; width > 0; width /= 2) {
    for (std::size_t i = 0; i < width; ++i) lanes[i] += lanes[i + width];
  }
  auto reference = Reference::ComputeOrLoad(problem, 1, "", 2);
  EXPECT_FALSE((*reference)->Check(&serial, 1).passed);
  EXPECT_TRUE((*reference)->Check(lanes.data(), 1).passed);
}

TEST(SampleIndices, AreDifferentAscendingAndIncludeTheEnds) {
  for (const auto& [count, most] : {std::pair<std::int64_t, std::int64_t>{1000, 64},
                                    {65, 64},
                                    {std::int64_t{1} << 40, 2048},
                                    {5, 2}}) {
    const std::vector<std::int64_t> indices = SampleIndices(count, most, 1, 0);
    ASSERT_EQ(static_cast<std::int64_t>(indices.size()), most);
    EXPECT_EQ(indices.front(), 0);
    EXPECT_EQ(indices.back(), count - 1);
    for (std::size_t i = 1; i < indices.size(); ++i) ASSERT_LT(indices[i - 1], indices[i]);
    EXPECT_EQ(indices, SampleIndices(count, most, 1, 0));
  }
  EXPECT_EQ(SampleIndices(3, 8, 1, 0), (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_TRUE(SampleIndices(3, 0, 1, 0).empty());
  EXPECT_NE(SampleIndices(1000, 64, 1, 0), SampleIndices(1000, 64, 2, 0));
}

}  // namespace
}  // namespace kbench::reference
