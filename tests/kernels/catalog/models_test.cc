// Operands, flop and byte models, tolerances and scaling.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/catalog/catalog.h"

namespace kbench {
namespace {

using testing::ElementsAre;

Problem Make(const std::string& kernel, const std::string& dtype, const std::string& size) {
  auto problem = MakeProblem(kernel, dtype, size, "");
  EXPECT_TRUE(problem.ok()) << kernel << " " << size;
  return problem.ok() ? *problem : Problem{};
}

double Flops(const std::string& kernel, const std::string& size) {
  return FindKernel(kernel)->flops(Make(kernel, "fp32", size));
}

double Bytes(const std::string& kernel, const std::string& dtype, const std::string& size) {
  return FindKernel(kernel)->compulsory_bytes(Make(kernel, dtype, size));
}

double Tolerance(const std::string& kernel, const std::string& dtype, const std::string& size) {
  return FindKernel(kernel)->tolerance(Make(kernel, dtype, size));
}

TEST(Models, CountFlops) {
  EXPECT_EQ(Flops("null", "1"), 0);
  EXPECT_EQ(Flops("copy", "64Mi"), 0);
  EXPECT_EQ(Flops("sum", "2^26"), 67108864);
  EXPECT_EQ(Flops("softmax", "10x20"), 1000);
  EXPECT_EQ(Flops("matmul", "4096"), 137438953472.0);
  EXPECT_EQ(Flops("matmul", "2x3x5"), 60);
  EXPECT_EQ(Flops("attention", "2x3x5x7"), 4 * 2 * 3 * 25 * 7);
  EXPECT_EQ(Flops("attention", "8192,causal"), 4.0 * 16 * 8192 * 8192 * 64 / 2);
  EXPECT_EQ(Flops("chain", "1000"), 30000);
  EXPECT_EQ(Flops("chain", "1000,depth=7"), 7000);
}

TEST(Models, CountCompulsoryBytes) {
  EXPECT_EQ(Bytes("null", "fp32", "1"), 0);
  EXPECT_EQ(Bytes("copy", "int8", "1000"), 2000);
  EXPECT_EQ(Bytes("matmul", "int8", "10x20x30"), 10 * 30 + 30 * 20 + 4 * 10 * 20);
  EXPECT_EQ(Bytes("matmul", "fp8e4m3", "10x20x30"), 10 * 30 + 30 * 20 + 2 * 10 * 20);
  EXPECT_EQ(Bytes("copy", "fp64", "1000"), 16000);
  EXPECT_EQ(Bytes("sum", "fp16", "1000"), 2004);  // the result is fp32
  EXPECT_EQ(Bytes("sum", "fp64", "1000"), 8008);
  EXPECT_EQ(Bytes("softmax", "bf16", "10x20"), 800);
  EXPECT_EQ(Bytes("matmul", "tf32", "2x3x5"), 4 * (10 + 15 + 6));
  EXPECT_EQ(Bytes("attention", "fp16", "b=2,h=4,s=8,d=16,hkv=2"),
            2 * (2 * 2 * 4 * 8 * 16 + 2 * 2 * 2 * 8 * 16));
  EXPECT_EQ(Bytes("chain", "fp16", "1000,depth=64"), 4000);
  EXPECT_EQ(FootprintBytes(Make("matmul", "fp16", "4096")), 3 * 4096 * 4096 * 2);
}

TEST(Models, OperandsFollowTheLayout) {
  const auto extents = [](const std::string& size) {
    std::vector<std::vector<std::int64_t>> all;
    const Problem problem = Make("matmul", "fp32", size);
    for (const OperandSpec& spec : FindKernel("matmul")->operands(problem)) {
      all.push_back(spec.extents);
    }
    return all;
  };
  using V = std::vector<std::int64_t>;
  EXPECT_THAT(extents("2x3x5"), ElementsAre(V{2, 5}, V{5, 3}, V{2, 3}));
  EXPECT_THAT(extents("2x3x5,layout=tn"), ElementsAre(V{5, 2}, V{5, 3}, V{2, 3}));
  EXPECT_THAT(extents("2x3x5,layout=nt"), ElementsAre(V{2, 5}, V{3, 5}, V{2, 3}));
}

TEST(Models, EveryOutputIsLastAndTf32LiesInMemoryAsFp32) {
  for (const KernelEntry& entry : Catalog()) {
    for (DType dtype : entry.dtypes) {
      const Problem problem = Make(entry.name, Info(dtype).name, "8");
      const std::vector<OperandSpec> operands = entry.operands(problem);
      for (std::size_t i = 0; i < operands.size(); ++i) {
        EXPECT_EQ(operands[i].output, i + 1 == operands.size()) << entry.name;
        EXPECT_NE(operands[i].storage, DType::kTf32) << entry.name;
      }
    }
  }
  EXPECT_TRUE(FindKernel("null")->operands(Make("null", "fp32", "")).empty());
}

// A TF32 product errs by 3e-4, whatever its depth.
TEST(Tolerance, OfFp32MatmulIsTooTightForTf32) {
  for (const char* size : {"64", "256", "4096", "16384", "1024x1024x2^20"}) {
    EXPECT_LT(Tolerance("matmul", "fp32", size), 1.5e-4) << size;
    EXPECT_GT(Tolerance("matmul", "tf32", size), 7.6e-4) << size;  // truncated inputs pass
  }
  EXPECT_LT(Tolerance("matmul", "fp32", "4096"), 1e-5);
  EXPECT_LT(Tolerance("attention", "fp32", "8192"), 5e-5);
}

TEST(Tolerance, IsNearTheRoundingOfTheOutput) {
  EXPECT_NEAR(Tolerance("matmul", "fp16", "4096"), 5e-4, 0.5e-4);
  EXPECT_NEAR(Tolerance("matmul", "bf16", "4096"), 4e-3, 0.4e-3);
  EXPECT_LT(Tolerance("matmul", "fp64", "4096"), 1e-13);
  EXPECT_NEAR(Tolerance("softmax", "fp16", "4096"), 10.6e-4, 1e-4);  // two roundings
  EXPECT_LT(Tolerance("sum", "fp32", "2^26"), 1e-5);
  EXPECT_NEAR(Tolerance("chain", "bf16", "1Mi"), 13.5e-3, 0.5e-3);  // thirty roundings
  EXPECT_NEAR(Tolerance("chain", "fp32", "1Mi,depth=1"), 8.6e-8, 1e-9);
  EXPECT_EQ(Tolerance("copy", "fp16", "4096"), 0);
  for (const KernelEntry& entry : Catalog()) {
    for (DType dtype : entry.dtypes) {
      EXPECT_LT(Tolerance(entry.name, Info(dtype).name, "4096"), 0.02) << entry.name;
    }
  }
}

TEST(ScaledDown, KeepsTheKindAndTheLimit) {
  const std::pair<const char*, const char*> cases[] = {{"copy", "64Mi"},
                                                       {"sum", "2^30"},
                                                       {"softmax", "4096"},
                                                       {"softmax", "1x2^20"},
                                                       {"matmul", "8192"},
                                                       {"matmul", "1x2^20x2^10"},
                                                       {"matmul", "64x2^14x2^14,layout=tn"},
                                                       {"attention", "8192,causal"},
                                                       {"attention", "b=8,h=32,s=1Ki,d=128,hkv=8"},
                                                       {"chain", "64Mi"},
                                                       {"chain", "8Mi,depth=64"}};
  for (const auto& [kernel, size] : cases) {
    const KernelEntry& entry = *FindKernel(kernel);
    const Problem problem = Make(kernel, "fp32", size);
    for (double limit : {1e9, 1e7, 1e5, 100.0, 0.0}) {
      const Problem small = entry.scaled_down(problem, limit);
      EXPECT_LE(entry.flops(small), std::max(limit * 1.01, 10.0)) << kernel << " " << size;
      EXPECT_EQ(small.shape.layout, problem.shape.layout);
      EXPECT_EQ(small.shape.causal, problem.shape.causal);
      for (const auto& [dim, extent] : small.shape.dims) {
        EXPECT_GE(extent, 1) << kernel << " " << dim;
        EXPECT_LE(extent, problem.shape[dim]) << kernel << " " << dim;
      }
      // It is a problem in its own right.
      EXPECT_TRUE(MakeProblem(kernel, "fp32", small.shape.Canonical(), "").ok())
          << small.shape.Canonical();
    }
    // Most of what is allowed is used, and nothing changes when everything is.
    EXPECT_GE(std::max(entry.flops(entry.scaled_down(problem, 1e7)),
                       entry.compulsory_bytes(entry.scaled_down(problem, 1e7)) / 8),
              2e6)
        << kernel << " " << size;
    EXPECT_EQ(entry.scaled_down(problem, 1e18).shape, problem.shape) << kernel << " " << size;
  }
}

}  // namespace
}  // namespace kbench
