// The CPU table against the catalog, and how its implementations refuse what they cannot do.
#include "kernels/cpu/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "kernels/cpu_features.h"
#include "tests/kernels/cpu/implementation_cases.h"

namespace kbench {
namespace {

using ::testing::HasSubstr;
using testing::MustMakeProblem;
using Kind = ImplementationError::Kind;

const Implementation& Find(const std::string& kernel, const std::string& name) {
  const auto& table = CpuTable();
  const auto at = std::find_if(table.begin(), table.end(), [&](const Implementation& line) {
    return line.kernel == kernel && line.name == name;
  });
  if (at == table.end()) throw std::out_of_range(kernel + " has no " + name);
  return *at;
}

bool Has(const std::vector<DType>& dtypes, DType dtype) {
  return std::find(dtypes.begin(), dtypes.end(), dtype) != dtypes.end();
}

TEST(CpuTable, LinesAgreeWithTheCatalog) {
  std::set<std::pair<std::string, std::string>> seen;
  for (const Implementation& line : CpuTable()) {
    SCOPED_TRACE(line.kernel + " " + line.name);
    EXPECT_TRUE(seen.emplace(line.kernel, line.name).second) << "listed twice";
    EXPECT_EQ(line.name.substr(0, line.name.find('/')), line.family);
    EXPECT_FALSE(line.summary.empty());
    EXPECT_FALSE(line.dtypes.empty());
    EXPECT_EQ(line.hidden, line.family == "selftest");
    EXPECT_EQ(line.default_choice, !line.hidden);
    ASSERT_NE(line.create, nullptr);
    const KernelEntry* entry = FindKernel(line.kernel);
    ASSERT_NE(entry, nullptr);
    for (DType dtype : line.dtypes) EXPECT_TRUE(Has(entry->dtypes, dtype)) << Info(dtype).name;
  }
}

TEST(CpuTable, NaiveRunsEveryKernelInEveryDType) {
  for (const KernelEntry& entry : Catalog()) {
    const Implementation& naive = Find(entry.name, "cpu/naive");
    for (DType dtype : entry.dtypes) {
      EXPECT_TRUE(Has(naive.dtypes, dtype)) << entry.name << " " << Info(dtype).name;
    }
  }
}

TEST(CpuTable, EveryHalfMatmulHasALibraryOnAnyCpu) {
  for (DType dtype : {DType::kFp16, DType::kBf16}) {
    const Problem problem = MustMakeProblem("matmul", dtype, "64");
    for (const char* name : {"cpu/onednn-via-fp32", "cpu/openblas-via-fp32"}) {
      const Implementation& line = Find("matmul", name);
      EXPECT_TRUE(Has(line.dtypes, dtype));
      EXPECT_FALSE(line.unsupported(problem)) << name;
    }
  }
}

TEST(CpuTable, OnednnNamesTheWayAroundAMissingInstruction) {
  for (const char* kernel : {"matmul", "softmax"}) {
    const Implementation& line = Find(kernel, "cpu/onednn");
    EXPECT_FALSE(line.dtype_missing(DType::kFp32));
    const auto fp16 = line.dtype_missing(DType::kFp16), bf16 = line.dtype_missing(DType::kBf16);
    // With the instructions it is for oneDNN to know the type; without them it has no say.
    if (!CpuHasFp16()) {
      EXPECT_THAT(fp16.value_or(""), HasSubstr("AVX512-FP16): use cpu/onednn-via-fp32"));
    }
    if (!CpuHasBf16()) {
      EXPECT_THAT(bf16.value_or(""), HasSubstr("AVX512-BF16): use cpu/onednn-via-fp32"));
    }
    for (const DType dtype : {DType::kFp16, DType::kBf16}) {
      // Offered and supported are the same thing.
      const auto missing = line.dtype_missing(dtype);
      const bool has = !line.unsupported(MustMakeProblem(kernel, dtype, "64"));
      if (!missing) {
        EXPECT_TRUE(has);
      } else {
        EXPECT_THAT(*missing, HasSubstr("use cpu/onednn-via-fp32"));
      }
    }
  }
}

TEST(CpuTable, OpenBlasSaysWhatItCanCountTo) {
  const Implementation& line = Find("matmul", "cpu/openblas");
  const auto reason =
      line.unsupported(MustMakeProblem("matmul", DType::kFp32, "m=1,n=1,k=2147483648"));
  ASSERT_TRUE(reason);
  EXPECT_THAT(*reason, HasSubstr("k=2147483648"));
  EXPECT_THAT(*reason, HasSubstr("at most 2147483647"));
  EXPECT_FALSE(line.unsupported(MustMakeProblem("matmul", DType::kFp32, "m=1,n=1,k=2147483647")));
}

// No operand is touched before the scratch is there, so none has to exist.
TEST(CpuTable, ScratchBeyondMemoryIsOutOfMemoryWithTheNumber) {
  const Problem problem = MustMakeProblem("matmul", DType::kFp16, "1Mi");
  OperandPointers nowhere;
  nowhere.inputs = {nullptr, nullptr};
  for (const char* name : {"cpu/openblas-via-fp32", "cpu/onednn-via-fp32"}) {
    SCOPED_TRACE(name);
    auto instance = Find("matmul", name).create(problem, nowhere, {1, nullptr});
    ASSERT_FALSE(instance.ok());
    EXPECT_EQ(instance.error().kind, Kind::kOutOfMemory);
    EXPECT_EQ(instance.error().needed_bytes, std::int64_t{3} << 42);
    EXPECT_THAT(instance.error().message, HasSubstr("13194139533312 bytes"));
  }
}

TEST(CpuTable, ADTypeThatNoLoopComputesInIsUnsupported) {
  Problem problem = MustMakeProblem("sum", DType::kFp32, "8");
  problem.dtype = DType::kFp8E4M3;
  OperandPointers nowhere;
  nowhere.inputs = {nullptr, nullptr};
  auto instance = Find("sum", "cpu/naive").create(problem, nowhere, {1, nullptr});
  ASSERT_FALSE(instance.ok());
  EXPECT_EQ(instance.error().kind, Kind::kUnsupported);
  EXPECT_THAT(instance.error().message, HasSubstr("fp8e4m3"));
}

TEST(CpuTable, LibrariesReportTheirVersionAndThreads) {
  testing::HostOperands operands(MustMakeProblem("matmul", DType::kFp32, "64"));
  for (const auto& [name, library] :
       {std::pair{"cpu/openblas", "OpenBLAS"}, {"cpu/onednn", "oneDNN"}}) {
    auto instance = Find("matmul", name)
                        .create(MustMakeProblem("matmul", DType::kFp32, "64"), operands.pointers(),
                                {2, nullptr});
    ASSERT_TRUE(instance.ok());
    auto configuration = (*instance)->Configuration();
    EXPECT_THAT(configuration["library"], HasSubstr(library));
    EXPECT_EQ(configuration["threads"], "2");
  }
}

}  // namespace
}  // namespace kbench
