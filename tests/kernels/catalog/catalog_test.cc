#include "kernels/catalog/catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace kbench {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

CatalogError ErrorOf(const std::string& kernel, const std::string& dtype, const std::string& size,
                     const std::string& mode = "") {
  auto problem = MakeProblem(kernel, dtype, size, mode);
  EXPECT_FALSE(problem.ok()) << kernel << " " << dtype << " " << size << " " << mode;
  return problem.ok() ? CatalogError{} : problem.error();
}

TEST(Catalog, HasTheSevenKernelsWithEverythingFilledIn) {
  std::vector<std::string> names;
  for (const KernelEntry& entry : Catalog()) {
    names.push_back(entry.name);
    EXPECT_FALSE(entry.summary.empty()) << entry.name;
    EXPECT_FALSE(entry.size_help.empty()) << entry.name;
    EXPECT_FALSE(entry.dtypes.empty()) << entry.name;
    ASSERT_FALSE(entry.baselines.empty()) << entry.name;
    EXPECT_EQ(entry.baselines.back(), "cpu/naive") << entry.name;
    const std::set<std::string> unique(entry.baselines.begin(), entry.baselines.end());
    EXPECT_EQ(unique.size(), entry.baselines.size()) << entry.name;
    EXPECT_EQ(FindKernel(entry.name), &entry);
  }
  EXPECT_THAT(names, ElementsAre("null", "copy", "sum", "softmax", "matmul", "attention", "chain"));
  EXPECT_EQ(FindKernel("gemm"), nullptr);
  EXPECT_EQ(FindKernel("matmul")->baselines.front(), "cublas");
}

TEST(Catalog, MakesAProblem) {
  auto problem = MakeProblem("matmul", "fp16", "4096", "");
  ASSERT_TRUE(problem.ok());
  EXPECT_EQ(problem->kernel, "matmul");
  EXPECT_EQ(problem->dtype, DType::kFp16);
  EXPECT_EQ(problem->mode, Mode::kCold);
  EXPECT_EQ(problem->shape.Canonical(), "m=4096,n=4096,k=4096,layout=nn");
  EXPECT_EQ(problem->shape["k"], 4096);
  EXPECT_EQ(problem->shape["nothing"], 0);
  EXPECT_EQ(MakeProblem("matmul", "fp16", "4096", "steady")->mode, Mode::kSteady);
}

TEST(Catalog, UnknownKernelsNameTheNearest) {
  const CatalogError error = ErrorOf("matmull", "fp16", "4096");
  EXPECT_EQ(error.field, "kernel");
  EXPECT_EQ(error.reason, "UNKNOWN_KERNEL");
  EXPECT_EQ(error.nearest.front(), "matmul");
  EXPECT_THAT(error.message, HasSubstr("'matmull'"));
  EXPECT_THAT(error.message, HasSubstr("attention"));
  EXPECT_EQ(ErrorOf("SoftMax", "fp16", "1").nearest.front(), "softmax");
  EXPECT_THAT(ErrorOf("", "fp16", "1").message, HasSubstr("missing"));
}

TEST(Catalog, DTypesAKernelLacksAreNamedWithThoseItHas) {
  for (const char* dtype : {"fp8e4m3", "int8"}) {
    const CatalogError error = ErrorOf("attention", dtype, "4096");
    EXPECT_EQ(error.field, "dtype");
    EXPECT_EQ(error.reason, "UNSUPPORTED_DTYPE");
    EXPECT_EQ(error.message, std::string("kernel attention has no dtype ") + dtype +
                                 "; it has fp32, tf32, fp16, bf16");
  }
  EXPECT_EQ(ErrorOf("matmul", "int32", "4096").reason, "UNSUPPORTED_DTYPE") << "a storage alone";
  EXPECT_EQ(ErrorOf("matmul", "fp15", "1").nearest.front(), "fp16");
  EXPECT_EQ(ErrorOf("matmul", "half", "1").nearest.front(), "fp16");
  EXPECT_EQ(ErrorOf("matmul", "float", "1").nearest.front(), "fp32");
  EXPECT_EQ(ErrorOf("sum", "tf32", "1").field, "dtype");
  EXPECT_THAT(ErrorOf("matmul", "", "1").message, HasSubstr("missing"));
  // What was suggested must be there to be had.
  EXPECT_THAT(ErrorOf("null", "half", "1").nearest, ElementsAre("fp32"));
}

TEST(Catalog, UnknownModesNameTheNearest) {
  const CatalogError error = ErrorOf("sum", "fp32", "1", "hott");
  EXPECT_EQ(error.field, "mode");
  EXPECT_EQ(error.reason, "UNKNOWN_MODE");
  EXPECT_EQ(error.nearest.front(), "hot");
}

TEST(Catalog, HostileTextIsQuotedInOneShortLine) {
  const std::string text = std::string(100000, 'x') + "\n\x1b[31m";
  for (const CatalogError& error :
       {ErrorOf(text, "fp32", "1"), ErrorOf("sum", text, "1"), ErrorOf("sum", "fp32", text),
        ErrorOf("sum", "fp32", "\n\x1b[31m"), ErrorOf("sum", "fp32", "1", text)}) {
    EXPECT_LT(error.message.size(), 300u);
    EXPECT_THAT(error.message, Not(HasSubstr("\n")));
    EXPECT_THAT(error.message, Not(HasSubstr("\x1b")));
  }
}

TEST(DType, NamesAreRead) {
  for (const std::string& name : DTypeNames()) {
    ASSERT_TRUE(ParseDType(name).has_value()) << name;
    EXPECT_EQ(Info(*ParseDType(name)).name, name);
  }
  EXPECT_FALSE(ParseDType("FP16").has_value());
  EXPECT_THAT(DTypeNames(), Contains("fp8e4m3"));
  EXPECT_EQ(Info(DType::kBf16).storage_bytes, 2u);
  EXPECT_EQ(Info(DType::kTf32).storage_bytes, 4u);
  EXPECT_EQ(Info(DType::kTf32).product_roundoff, 0x1p-11);
  EXPECT_EQ(Info(DType::kFp16).accumulate_roundoff, 0x1p-24);
}

}  // namespace
}  // namespace kbench
