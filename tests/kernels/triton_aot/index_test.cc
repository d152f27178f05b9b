// What compile.py made: complete, readable, and its binaries' own parameters those that it says.
// Needs no GPU.
#include "kernels/triton_aot/index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "kernels/triton_aot/choice.h"
#include "kernels/triton_aot/cubin_parameters.h"
#include "kernels/triton_aot/table.h"
#include "tests/kernels/cpu/implementation_cases.h"

namespace kbench::aot {
namespace {

using ::testing::HasSubstr;
using testing::MustMakeProblem;

const Launch& FirstOf(const std::string& function) {
  for (const Launch& launch : CompiledIndex().launches) {
    if (launch.function == function) return launch;
  }
  ADD_FAILURE() << "there is no " << function;
  return CompiledIndex().launches.front();
}

TEST(CompiledIndex, EveryBinaryTakesTheParametersItSays) {
  for (const Launch& launch : CompiledIndex().launches) {
    EXPECT_EQ(ParametersDisagree(CompiledIndex(), launch).value_or(""), "");
    EXPECT_GT(launch.warps, 0);
    EXPECT_LE(launch.warps, 32);
  }
}

TEST(CompiledIndex, ParametersAreReadFromABinary) {
  const Launch& launch = FirstOf("copy_kernel");
  const auto parameters = ParametersOf(CompiledIndex().CubinOf(launch), "copy_kernel");
  ASSERT_TRUE(parameters.ok()) << parameters.error();
  ASSERT_GE(parameters->size(), 3u);
  EXPECT_EQ((*parameters)[0], (Parameter{0, 8}));
  EXPECT_EQ((*parameters)[1], (Parameter{8, 8}));
  EXPECT_EQ((*parameters)[2], (Parameter{16, 4}));
}

// Triton appends its scratch pointers where nobody asked for them: what is not told apart by the
// index would be read from behind the arguments.
TEST(CompiledIndex, AWrongIndexIsRefused) {
  const Index& right = CompiledIndex();
  const Launch& launch = FirstOf("copy_kernel");
  const auto complaint = [&](const std::vector<Argument>& arguments, int scratch_pointers) {
    Launch wrong = launch;
    wrong.first_argument = 0;
    wrong.arguments = static_cast<int>(arguments.size());
    wrong.scratch_pointers = scratch_pointers;
    const Index index = {right.triton_version, {}, {}, arguments, right.cubins};
    return ParametersDisagree(index, wrong).value_or("");
  };
  const auto own = right.ArgumentsOf(launch);
  const std::vector<Argument> arguments(own.begin(), own.end());
  EXPECT_EQ(complaint(arguments, launch.scratch_pointers), "");
  EXPECT_THAT(complaint(arguments, launch.scratch_pointers + 1),
              HasSubstr("the compiled copy_kernel has other parameters than its index says"));
  EXPECT_NE(complaint({arguments[0], arguments[1]}, launch.scratch_pointers), "");
  std::vector<Argument> wider = arguments;
  wider[2].kind = Argument::Kind::kInt64;
  EXPECT_THAT(complaint(wider, launch.scratch_pointers), HasSubstr("not 5 (8, 8, 8, 8, 8 bytes)"));
  Launch elsewhere = launch;
  elsewhere.function = "softmax";
  EXPECT_THAT(ParametersDisagree(right, elsewhere).value_or(""),
              HasSubstr("no section .nv.info.softmax"));
  elsewhere = launch;
  elsewhere.offset = static_cast<std::int64_t>(right.cubins.size());
  EXPECT_THAT(ParametersDisagree(right, elsewhere).value_or(""), HasSubstr("no ELF file"));
}

TEST(CompiledIndex, ABrokenBinaryIsReadRightOrRefused) {
  const Launch& launch = FirstOf("copy_kernel");
  const std::string whole(CompiledIndex().CubinOf(launch));
  const auto right = ParametersOf(whole, "copy_kernel");
  ASSERT_TRUE(right.ok()) << right.error();
  for (std::size_t size = 0; size < whole.size(); size += 61) {
    const auto cut = ParametersOf(whole.substr(0, size), "copy_kernel");
    EXPECT_TRUE(cut.ok() ? *cut == *right : !cut.error().empty()) << size;
  }
  EXPECT_FALSE(ParametersOf(whole.substr(0, whole.size() / 4), "copy_kernel").ok());
}

// Every expression has a value, and every class of sizes its binary.
TEST(CompiledIndex, SmallProblemsOfEveryArchitectureAreRightOrRefused) {
  const Index& index = CompiledIndex();
  for (const Implementation& line : TritonAotTable()) {
    for (DType dtype : line.dtypes) {
      for (const Problem& problem : testing::SmallProblems(line.kernel, dtype)) {
        SCOPED_TRACE(line.name + " " + line.kernel + " " + problem.shape.Canonical());
        const Names names = NamesOf(problem, 132);
        for (int capability : {80, 86, 89, 90}) {
          for (const Variant* variant : VariantsFor(index, line.name, problem, capability, 132)) {
            for (const Launch& launch : index.LaunchesOf(*variant)) {
              for (const char* extent : launch.grid) {
                const auto blocks = Evaluate(extent, names);
                ASSERT_TRUE(blocks.ok()) << blocks.error();
                EXPECT_GE(*blocks, 1);
              }
              for (const Argument& argument : index.ArgumentsOf(launch)) {
                if (argument.kind == Argument::Kind::kOperand) continue;
                ASSERT_TRUE(Evaluate(argument.expression, names).ok()) << argument.expression;
              }
            }
          }
        }
      }
    }
  }
}

TEST(CompiledIndex, EveryConditionCanBeRead) {
  for (const Variant& variant : CompiledIndex().variants) {
    Names names = {{"causal", 0}, {"a_transposed", 0}, {"b_transposed", 0}, {"multiprocessors", 1}};
    for (const char* name : {"n", "m", "k", "rows", "cols", "depth", "b", "h", "s", "d", "hkv"}) {
      names[name] = 1;
    }
    const auto value = Evaluate(variant.when, names);
    EXPECT_TRUE(value.ok()) << value.error();
  }
}

TEST(TritonAotTable, EveryVariantBelongsToALine) {
  for (const Variant& variant : CompiledIndex().variants) {
    const bool listed = std::any_of(
        TritonAotTable().begin(), TritonAotTable().end(), [&](const Implementation& line) {
          return line.name == variant.implementation && line.kernel == variant.kernel;
        });
    EXPECT_TRUE(listed) << variant.implementation << " " << variant.kernel;
  }
  for (const Implementation& line : TritonAotTable()) {
    EXPECT_FALSE(line.dtypes.empty()) << line.name << " " << line.kernel;
    EXPECT_EQ(line.family, "triton-aot");
  }
  EXPECT_NE(TritonAotVersion(), "");
}

const Implementation& Line(const std::string& kernel) {
  return *std::find_if(TritonAotTable().begin(), TritonAotTable().end(),
                       [&](const Implementation& line) { return line.kernel == kernel; });
}

TEST(TritonAotTable, SaysWhatIsCompiled) {
  const auto why = [](const std::string& kernel, DType dtype, const std::string& size) {
    return Line(kernel).unsupported(MustMakeProblem(kernel, dtype, size)).value_or("");
  };
  EXPECT_EQ(why("chain", DType::kFp32, "1000,depth=30"), "");
  EXPECT_THAT(why("chain", DType::kFp32, "1000,depth=3"), HasSubstr("compiled is depth of 1, 2"));
  EXPECT_EQ(why("attention", DType::kFp16, "1x2x65x128"), "");
  EXPECT_THAT(why("attention", DType::kFp16, "1x2x65x80"), HasSubstr("d of 64 and 128"));
  EXPECT_EQ(why("matmul", DType::kFp8E4M3, "m=64,n=64,k=64,layout=nt"), "");
  EXPECT_THAT(why("matmul", DType::kInt8, "m=64,n=64,k=64,layout=nn"), HasSubstr("layout=nt"));
  EXPECT_THAT(why("copy", DType::kInt8, "2Gi"), HasSubstr("n below 2^31"));
}

// The whole-tile binaries come before those that mask.
TEST(TritonAotTable, CandidatesFitTheProblem) {
  const auto candidates = [](const std::string& kernel, DType dtype, const std::string& size) {
    return Line(kernel).candidates(MustMakeProblem(kernel, dtype, size));
  };
  EXPECT_EQ(candidates("copy", DType::kFp32, "1Mi").size(), 3u);
  EXPECT_EQ(candidates("matmul", DType::kFp16, "4096").size(), 2u);
  EXPECT_EQ(candidates("matmul", DType::kFp16, "17x33x65").size(), 2u);
  for (const std::string& candidate : candidates("softmax", DType::kFp32, "64x1000")) {
    EXPECT_THAT(candidate, HasSubstr("cols=1024"));
  }
  const Problem whole = MustMakeProblem("matmul", DType::kFp16, "4096");
  const auto variants = VariantsFor(CompiledIndex(), "triton-aot", whole, 90, 132);
  EXPECT_THAT(std::string(variants.front()->when), HasSubstr("k % 64 == 0"));
}

TEST(TritonAotTable, AnotherCandidateIsRefusedWithThoseThereAre) {
  DeviceContext context;
  context.candidate = "block=7";
  const auto instance =
      Line("copy").create(MustMakeProblem("copy", DType::kFp32, "1Mi"), {}, context);
  ASSERT_FALSE(instance.ok());
  EXPECT_EQ(instance.error().kind, ImplementationError::Kind::kUnsupported);
  EXPECT_THAT(instance.error().message, HasSubstr("no candidate 'block=7'"));
  EXPECT_THAT(instance.error().message, HasSubstr("offered are: block=2048,warps=8; "));
}

}  // namespace
}  // namespace kbench::aot
