#include "kernels/triton_aot/choice.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/kernels/cpu/implementation_cases.h"

namespace kbench::aot {
namespace {

using testing::MustMakeProblem;

const Variant kVariants[] = {
    {"triton-aot", "copy", "fp16", 80, "large", "n % 16 == 0", 0, 1},
    {"triton-aot", "copy", "fp16", 80, "small", "n < 1000", 0, 1},
    {"triton-aot", "copy", "fp16", 80, "large", "n > 1", 0, 1},
    {"triton-aot", "copy", "fp16", 89, "large", "1", 0, 1},
    {"triton-aot", "copy", "fp16", 90, "large", "1", 0, 1},
    {"triton-aot/two", "copy", "fp16", 100, "large", "1", 0, 1},
    {"triton-aot", "copy", "fp32", 80, "large", "missing == 1", 0, 1},
};

const Index& HandMade() {
  static const Index index = {"3.6.0", kVariants, {}, {}, {}};
  return index;
}

int Code(int capability) {
  return CodeFor(HandMade(), "triton-aot", "copy", DType::kFp16, capability);
}

TEST(Choice, ACardRunsTheNewestCodeOfItsGeneration) {
  EXPECT_EQ(Code(80), 80);
  EXPECT_EQ(Code(86), 80);
  EXPECT_EQ(Code(89), 89);
  EXPECT_EQ(Code(90), 90);
  EXPECT_EQ(Code(75), 0);
  EXPECT_EQ(Code(100), 0);
  EXPECT_EQ(Code(120), 0);
  EXPECT_EQ(Code(0), 90) << "no GPU: the newest there is";
  EXPECT_EQ(CodeFor(HandMade(), "triton-aot", "copy", DType::kFp64, 80), 0);
  EXPECT_EQ(CodeFor(HandMade(), "triton-aot", "sum", DType::kFp16, 80), 0);
}

std::vector<const Variant*> For(const std::string& size, DType dtype = DType::kFp16) {
  return VariantsFor(HandMade(), "triton-aot", MustMakeProblem("copy", dtype, size), 80, 100);
}

TEST(Choice, OfACandidateTheFirstThatIsRight) {
  const auto aligned = For("16"), odd = For("17"), one = For("1");
  ASSERT_EQ(aligned.size(), 2u);
  EXPECT_EQ(aligned[0], &kVariants[0]);
  EXPECT_EQ(aligned[1], &kVariants[1]);
  ASSERT_EQ(odd.size(), 2u);
  EXPECT_EQ(odd[0], &kVariants[2]) << "the best guess stays the first";
  EXPECT_EQ(odd[1], &kVariants[1]);
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0], &kVariants[1]);
  EXPECT_EQ(For("1001").size(), 1u);
}

TEST(Choice, WhatCannotBeReadHoldsForNothing) { EXPECT_TRUE(For("16", DType::kFp32).empty()); }

TEST(Choice, NamesAreTheProblems) {
  const Names matmul = NamesOf(MustMakeProblem("matmul", DType::kFp16, "m=2,n=3,k=4,layout=nt"), 7);
  EXPECT_EQ(matmul.at("m"), 2);
  EXPECT_EQ(matmul.at("a_transposed"), 0);
  EXPECT_EQ(matmul.at("b_transposed"), 1);
  EXPECT_EQ(matmul.at("multiprocessors"), 7);
  const Names attention =
      NamesOf(MustMakeProblem("attention", DType::kFp16, "b=1,h=6,s=4,d=64,causal"), 0);
  EXPECT_EQ(attention.at("hkv"), 6);
  EXPECT_EQ(attention.at("causal"), 1);
  EXPECT_EQ(attention.at("multiprocessors"), 1);
  const Names grouped =
      NamesOf(MustMakeProblem("attention", DType::kFp16, "b=1,h=6,s=4,d=64,hkv=2"), 1);
  EXPECT_EQ(grouped.at("hkv"), 2);
}

}  // namespace
}  // namespace kbench::aot
