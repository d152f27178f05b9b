// The CUDA and cuBLAS tables against the catalog. Needs no GPU.
#include "kernels/cuda/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "kernels/cublas/table.h"
#include "tests/kernels/cpu/implementation_cases.h"

namespace kbench {
namespace {

using ::testing::HasSubstr;
using testing::MustMakeProblem;

bool Has(const std::vector<DType>& dtypes, DType dtype) {
  return std::find(dtypes.begin(), dtypes.end(), dtype) != dtypes.end();
}

const Implementation* Find(const std::vector<Implementation>& table, const std::string& kernel) {
  for (const Implementation& line : table) {
    if (line.kernel == kernel) return &line;
  }
  return nullptr;
}

TEST(CudaTables, LinesAgreeWithTheCatalog) {
  std::set<std::pair<std::string, std::string>> seen;
  for (const auto* table : {&CudaTable(), &CublasTable()}) {
    for (const Implementation& line : *table) {
      SCOPED_TRACE(line.kernel + " " + line.name);
      EXPECT_TRUE(seen.emplace(line.kernel, line.name).second) << "listed twice";
      EXPECT_EQ(line.name.substr(0, line.name.find('/')), line.family);
      EXPECT_EQ(line.hidden, line.family == "selftest");
      EXPECT_EQ(line.default_choice, !line.hidden);
      ASSERT_NE(line.create, nullptr);
      const KernelEntry* entry = FindKernel(line.kernel);
      ASSERT_NE(entry, nullptr);
      for (DType dtype : line.dtypes) EXPECT_TRUE(Has(entry->dtypes, dtype)) << Info(dtype).name;
    }
  }
}

TEST(CudaTables, NaiveRunsEveryKernelInEveryDType) {
  for (const KernelEntry& entry : Catalog()) {
    const Implementation* naive = Find(CudaTable(), entry.name);
    ASSERT_NE(naive, nullptr) << entry.name;
    for (DType dtype : entry.dtypes) {
      EXPECT_TRUE(Has(naive->dtypes, dtype)) << entry.name << " " << Info(dtype).name;
    }
  }
}

TEST(CudaTables, AttentionSaysTheLargestHead) {
  const Implementation* naive = Find(CudaTable(), "attention");
  const auto reason = naive->unsupported(MustMakeProblem("attention", DType::kFp16, "1x1x8x4097"));
  ASSERT_TRUE(reason);
  EXPECT_THAT(*reason, HasSubstr("d=4097"));
  EXPECT_THAT(*reason, HasSubstr("at most 4096"));
  EXPECT_FALSE(naive->unsupported(MustMakeProblem("attention", DType::kFp16, "1x1x8x256")));
}

TEST(CudaTables, FlashAttentionSaysWhichHeadsItTakes) {
  const auto reason = [](const std::string& name, DType dtype, const std::string& size) {
    for (const Implementation& line : CudaTable()) {
      if (line.kernel != "attention" || line.name != name) continue;
      return line.unsupported(MustMakeProblem("attention", dtype, size)).value_or("");
    }
    return name + " is not in the table";
  };
  for (const std::string name : {"cuda/flash-mma", "cuda/flash-wgmma"}) {
    SCOPED_TRACE(name);
    EXPECT_EQ(reason(name, DType::kFp16, "2x3x17x64"), "");
    EXPECT_EQ(reason(name, DType::kBf16, "b=1,h=4,s=5,d=128,hkv=2,causal"), "");
    EXPECT_EQ(reason(name, DType::kFp16, "1x1x8x80"), "d=80 is not compiled: 64 and 128 are");
  }
  EXPECT_EQ(reason("cuda/flash-fp32", DType::kFp32, "2x3x17x5"), "");
  EXPECT_THAT(reason("cuda/flash-fp32", DType::kFp32, "1x1x8x129"), HasSubstr("at most 128"));
}

TEST(CudaTables, CublasRefusesAMathModeTheEnvironmentChanges) {
  const Implementation* cublas = Find(CublasTable(), "matmul");
  const Problem fp32 = MustMakeProblem("matmul", DType::kFp32, "64");
  const Problem tf32 = MustMakeProblem("matmul", DType::kTf32, "64");
  unsetenv("NVIDIA_TF32_OVERRIDE");
  EXPECT_FALSE(cublas->unsupported(fp32));
  EXPECT_FALSE(cublas->unsupported(tf32));
  setenv("NVIDIA_TF32_OVERRIDE", "0", 1);
  EXPECT_FALSE(cublas->unsupported(fp32));
  EXPECT_THAT(cublas->unsupported(tf32).value_or(""), HasSubstr("NVIDIA_TF32_OVERRIDE=0"));
  setenv("NVIDIA_TF32_OVERRIDE", "1", 1);
  EXPECT_THAT(cublas->unsupported(fp32).value_or(""), HasSubstr("unset it"));
  EXPECT_FALSE(cublas->unsupported(tf32));
  unsetenv("NVIDIA_TF32_OVERRIDE");
}

}  // namespace
}  // namespace kbench
