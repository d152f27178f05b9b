// The CUDA and cuBLAS tables against the catalog. Needs no GPU.
#include "kernels/cuda/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "kernels/cublas/table.h"
#include "kernels/cuda/compiled_for.h"
#include "kernels/cudnn/table.h"
#include "kernels/triton_aot/table.h"
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
  for (const auto* table : {&CudaTable(), &CublasTable(), &CudnnTable(), &TritonAotTable()}) {
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

// cuda/naive, of a chain cuda/launches.
TEST(CudaTables, ThePlainestRunsEveryKernelInEveryDType) {
  for (const KernelEntry& entry : Catalog()) {
    const Implementation* naive = Find(CudaTable(), entry.name);
    ASSERT_NE(naive, nullptr) << entry.name;
    EXPECT_EQ(naive->name, entry.name == std::string("chain") ? "cuda/launches" : "cuda/naive");
    EXPECT_EQ(naive->rung, 0) << entry.name;
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

// Kernels that count in 32 bits.
TEST(CudaTables, MatmulSaysTheLongestExtent) {
  const Problem longest = MustMakeProblem("matmul", DType::kFp32, "m=2147482624,n=1,k=1");
  const Problem too_long = MustMakeProblem("matmul", DType::kFp32, "m=1,n=1,k=2147482625");
  for (const char* name : {"cuda/register-tiled", "cuda/wmma"}) {
    const auto line = std::find_if(CudaTable().begin(), CudaTable().end(),
                                   [&](const auto& each) { return each.name == name; });
    ASSERT_NE(line, CudaTable().end()) << name;
    EXPECT_FALSE(line->unsupported(longest));
    EXPECT_THAT(line->unsupported(too_long).value_or(""), HasSubstr("k=2147482625"));
    EXPECT_THAT(line->unsupported(too_long).value_or(""), HasSubstr("at most 2147482624"));
  }
}

TEST(CudaTables, TheBestVariantStandsHighest) {
  const std::pair<const char*, const char*> best[] = {{"sum", "cuda/vectorized"},
                                                      {"softmax", "cuda/registers"}};
  for (const auto& [kernel, name] : best) {
    const Implementation* highest = nullptr;
    for (const Implementation& line : CudaTable()) {
      if (line.kernel != kernel || line.family != "cuda") continue;
      if (highest == nullptr || line.rung > highest->rung) highest = &line;
    }
    EXPECT_EQ(highest->name, name);
    const Problem problem = MustMakeProblem(kernel, DType::kFp32, "4096");
    EXPECT_FALSE(highest->candidates(problem).empty());
  }
}

// cuda/registers gives a row to a group of lanes once: where a grid has no blocks for all rows, it
// is the kernel of two reads, which strides, that runs, and that has no candidates.
TEST(CudaTables, SoftmaxInRegistersOffersNothingBeyondAGrid) {
  const auto candidates = [](const std::string& size) {
    const Problem problem = MustMakeProblem("softmax", DType::kFp16, size);
    for (const Implementation& line : CudaTable()) {
      if (line.name == "cuda/registers") return line.candidates(problem);
    }
    return std::vector<std::string>{"no such line"};
  };
  EXPECT_FALSE(candidates("17179869184x1").empty());
  EXPECT_TRUE(candidates("549755813888x1").empty());
}

// A card runs the newest code that is not above it; sm_90a is for Hopper alone.
TEST(CompiledFor, TheCodeThatACardRuns) {
  EXPECT_EQ(cuda::CodeFor("89,90a", 90), 90);
  EXPECT_EQ(cuda::CodeFor("89,90a", 89), 89);
  EXPECT_EQ(cuda::CodeFor("89,90a", 100), 89);
  EXPECT_EQ(cuda::CodeFor("80", 90), 80);
  EXPECT_EQ(cuda::CodeFor("80,86,120", 100), 86);
  EXPECT_EQ(cuda::CodeFor("90a", 80), 0);
  EXPECT_EQ(cuda::CodeFor("", 90), 0);
  EXPECT_TRUE(cuda::HasHopperCode("89,90a"));
  EXPECT_FALSE(cuda::HasHopperCode("89,90"));
}

TEST(CudaTables, WgmmaSaysWhatTmaCannotTake) {
  const auto unsupported = [](DType dtype, const std::string& size) {
    for (const Implementation& line : CudaTable()) {
      if (line.name != "cuda/wgmma" || line.kernel != "matmul") continue;
      return line.unsupported(MustMakeProblem("matmul", dtype, size)).value_or("");
    }
    return std::string("no such line");
  };
  EXPECT_EQ(unsupported(DType::kFp16, "m=1,n=8,k=8"), "");
  EXPECT_THAT(unsupported(DType::kFp16, "m=8,n=17,k=8"), HasSubstr("n=17"));
  EXPECT_THAT(unsupported(DType::kFp16, "m=8,n=8,k=17"), HasSubstr("multiple of 8"));
  EXPECT_EQ(unsupported(DType::kBf16, "m=8,n=8,k=17,layout=tn"), "");
  EXPECT_THAT(unsupported(DType::kBf16, "m=9,n=8,k=17,layout=tn"), HasSubstr("m=9"));
  EXPECT_EQ(unsupported(DType::kTf32, "m=9,n=4,k=4,layout=nt"), "");
  EXPECT_THAT(unsupported(DType::kTf32, "m=8,n=8,k=8,layout=nn"), HasSubstr("layout=nt"));
}

// The handing over of sums is what the sanitizer is to see: these are rows of
// tests/gpu/sanitize.csv.
TEST(CudaTables, WgmmaSplitsWhatTheSanitizerLooksAt) {
  for (const auto& [dtype, size] : {std::pair{DType::kFp16, "m=2184,n=2040,k=1096"},
                                    std::pair{DType::kTf32, "m=2184,n=2040,k=868,layout=nt"}}) {
    for (const Implementation& line : CudaTable()) {
      if (line.name != "cuda/wgmma" || line.kernel != "matmul") continue;
      EXPECT_THAT(line.candidates(MustMakeProblem("matmul", dtype, size)),
                  ::testing::Contains(HasSubstr(",split")))
          << size;
    }
  }
}

// A test on a GPU that refuses every problem would pass for nothing.
TEST(CudaTables, EveryImplementationTakesSomeOfTheSmallProblems) {
  for (const auto* table : {&CudaTable(), &CublasTable(), &CudnnTable(), &TritonAotTable()}) {
    for (const auto& [line, dtype] : testing::CellsOf(*table)) {
      const std::vector<Problem> problems = testing::SmallProblems(line->kernel, dtype);
      const auto taken = [&, refuses = line->unsupported](const Problem& problem) {
        return refuses == nullptr || !refuses(problem);
      };
      EXPECT_TRUE(std::any_of(problems.begin(), problems.end(), taken))
          << line->kernel << " " << line->name << " " << Info(dtype).name;
    }
  }
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

const Implementation& Named(const std::string& name) {
  for (const Implementation& line : CublasTable()) {
    if (line.name == name) return line;
  }
  ADD_FAILURE() << name;
  return CublasTable().front();
}

TEST(CudaTables, LibrariesSayWhatTheyAskOfEightBits) {
  const struct {
    const char* implementation;
    DType dtype;
    const char* size;
    const char* why;  // empty: nothing
  } cases[] = {
      {"cublas", DType::kInt8, "64", ""},
      {"cublas", DType::kInt8, "m=3,n=5,k=4,layout=nt", ""},
      {"cublas", DType::kInt8, "m=4,n=4,k=6,layout=nt", "k to be a multiple of 4, not 6"},
      {"cublas", DType::kInt8, "m=64,n=64,k=64,layout=nn", "layout=nt, not nn"},
      {"cublaslt", DType::kInt8, "m=64,n=64,k=64,layout=tt", "layout=nt, not tt"},
      {"cublaslt", DType::kFp8E4M3, "64", ""},
      {"cublaslt", DType::kFp8E4M3, "m=1,n=8,k=16,layout=nt", ""},
      {"cublaslt-tuned", DType::kFp8E4M3, "m=16,n=16,k=40,layout=nt", "k to be a multiple of 16"},
      {"cublaslt-tuned", DType::kFp8E4M3, "m=16,n=36,k=16,layout=nt", "n to be a multiple of 8"},
      {"cublaslt-tuned", DType::kFp8E4M3, "m=64,n=64,k=64,layout=tn", "layout=nt, not tn"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(std::string(c.implementation) + " " + c.size);
    const auto why =
        Named(c.implementation).unsupported(MustMakeProblem("matmul", c.dtype, c.size));
    EXPECT_EQ(why.has_value(), *c.why != '\0');
    EXPECT_THAT(why.value_or(""), HasSubstr(c.why));
  }
}

TEST(CudaTables, TheTunedLibraryOffersPlacesAndRefusesOthers) {
  const Implementation& line = Named("cublaslt-tuned");
  const Problem problem = MustMakeProblem("matmul", DType::kFp16, "64");
  const std::vector<std::string> places = line.candidates(problem);
  ASSERT_EQ(places.size(), 16u);
  EXPECT_EQ(places.front(), "0");
  OperandPointers nowhere;
  nowhere.inputs = {nullptr, nullptr};
  for (const char* word : {"16", "-1", "first", "1x", " 1"}) {
    DeviceContext context;
    context.candidate = word;
    const auto instance = line.create(problem, nowhere, context);
    ASSERT_FALSE(instance.ok()) << word;
    EXPECT_EQ(instance.error().kind, ImplementationError::Kind::kUnsupported) << word;
    EXPECT_THAT(instance.error().message, HasSubstr("0 to 15"));
  }
}

}  // namespace
}  // namespace kbench
