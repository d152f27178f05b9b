// The cuDNN table and what it refuses. Needs no GPU, and no libcudnn.
#include "kernels/cudnn/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/kernels/cpu/implementation_cases.h"

namespace kbench {
namespace {

using ::testing::HasSubstr;

std::optional<std::string> Reason(const std::string& kernel, DType dtype, const std::string& size) {
  for (const Implementation& line : CudnnTable()) {
    if (line.kernel != kernel) continue;
    return line.unsupported(testing::MustMakeProblem(kernel, dtype, size));
  }
  throw std::out_of_range("no cudnn " + kernel);
}

TEST(CudnnTable, IsOneFamilyOfOneLineAKernel) {
  ASSERT_EQ(CudnnTable().size(), 3u);
  for (const Implementation& line : CudnnTable()) {
    EXPECT_EQ(line.name, "cudnn") << line.kernel;
    EXPECT_EQ(line.family, "cudnn") << line.kernel;
    EXPECT_NE(line.dtype_missing, nullptr) << line.kernel;
  }
}

TEST(CudnnTable, AttentionSaysWhichHeadsItTakes) {
  for (const char* size : {"1x1x8x12", "1x1x8x264"}) {
    const std::string reason = Reason("attention", DType::kFp16, size).value_or("");
    EXPECT_THAT(reason, HasSubstr("multiples of 8"));
    EXPECT_THAT(reason, HasSubstr("at most 256"));
  }
  EXPECT_THAT(Reason("attention", DType::kBf16, "1x1x8x12").value_or(""), HasSubstr("d=12"));
  EXPECT_FALSE(Reason("attention", DType::kFp16, "1x1x8x8"));
  EXPECT_FALSE(Reason("attention", DType::kFp16, "b=2,h=6,s=67,d=256,hkv=2,causal"));
}

TEST(CudnnTable, TheOlderInterfaceSaysHowFarItCounts) {
  EXPECT_THAT(Reason("softmax", DType::kFp16, "65536").value_or(""),
              HasSubstr("at most 2147483647, not 4294967296"));
  EXPECT_FALSE(Reason("softmax", DType::kFp16, "32767x65536"));
  EXPECT_THAT(Reason("sum", DType::kFp32, "2^31").value_or(""), HasSubstr("2147483648"));
  EXPECT_FALSE(Reason("sum", DType::kFp32, "2^30"));
  EXPECT_THAT(Reason("sum", DType::kFp16, "n=1073741825").value_or(""), HasSubstr("at most 2^30"));
  EXPECT_FALSE(Reason("sum", DType::kFp16, "2^30"));
  EXPECT_THAT(Reason("sum", DType::kFp32, "1").value_or(""), HasSubstr("2 elements or more"));
}

}  // namespace
}  // namespace kbench
