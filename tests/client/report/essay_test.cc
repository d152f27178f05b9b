#include "client/report/essay.h"

#include <algorithm>

#include "client/report/model.h"
#include "client/suites/suite_plan.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/report/report_samples.h"

namespace kbench::client {
namespace {

using kbench::v1::Result;
using testing::Made;
using testing::Row;
using testing::SumByN;

std::unique_ptr<const RoiModel> Build(const std::vector<Result>& rows) {
  auto model = BuildRoi(rows, "");
  EXPECT_TRUE(model.ok()) << model.status();
  return *std::move(model);
}

Ratio Within(double low, double high) {
  return {(low + high) / 2, low, high, Ratio::How::kByRound};
}

TEST(ClaimTest, AFigureKeepsToItsSideOfATie) {
  EXPECT_DOUBLE_EQ(ClaimOf(0.95).low, 0.76);
  EXPECT_DOUBLE_EQ(ClaimOf(0.95).high, 1 / 1.025);
  EXPECT_DOUBLE_EQ(ClaimOf(1.12).low, 1.025);
  EXPECT_DOUBLE_EQ(ClaimOf(1.12).high, 1.4);
  EXPECT_DOUBLE_EQ(ClaimOf(1.0).low, 1 / 1.025);
  EXPECT_DOUBLE_EQ(ClaimOf(6.14).low, 6.14 / 1.25);
}

TEST(JudgeTest, TheWholeIntervalDecides) {
  const Claim claim = ClaimOf(2);  // 1.6 to 2.5
  EXPECT_EQ(Judge(claim, Within(1.7, 2.4)), Judgement::kReproduced);
  EXPECT_EQ(Judge(claim, Within(1.1, 1.2)), Judgement::kDirection);
  EXPECT_EQ(Judge(claim, Within(2.4, 2.6)), Judgement::kDirection);
  EXPECT_EQ(Judge(claim, Within(0.99, 1.01)), Judgement::kNotReproduced);
  EXPECT_EQ(Judge(claim, Within(0.4, 0.5)), Judgement::kNotReproduced);
  EXPECT_EQ(Judge(claim, Within(0.9, 1.1)), Judgement::kUndecided);
  EXPECT_EQ(Judge(claim, Ratio{2, 0, 0, Ratio::How::kApart}), Judgement::kUndecided);
  EXPECT_EQ(Judge(claim, {}), Judgement::kNotMeasured);
}

const EssayRatio& RatioOf(const RoiModel& model, const std::string& what) {
  const auto found = std::find_if(model.ratios.begin(), model.ratios.end(),
                                  [&](const EssayRatio& one) { return one.what == what; });
  EXPECT_NE(found, model.ratios.end()) << what;
  return *found;
}

Row Matmul(const std::string& dtype, const std::string& implementation, double seconds) {
  return {.kernel = "matmul",
          .dtype = dtype,
          .shape = "m=4096,n=4096,k=4096,layout=nn",
          .implementation = implementation,
          .seconds = seconds,
          .regime = "compute-bound"};
}

TEST(EssayTest, RatiosFollowFromItsFigures) {
  const auto model =
      Build({Made(Matmul("fp16", "cublas", 1e-3)), Made(Matmul("fp16", "cublaslt-tuned", 0.9e-3)),
             Made(Matmul("fp16", "triton", 0.85e-3))});
  ASSERT_EQ(model->ratios.size(), 15u);
  const EssayRatio& ratio = RatioOf(*model, "Triton fp16 against cuBLAS fp16");
  EXPECT_DOUBLE_EQ(ratio.essay, 54.0 / 51.8);
  EXPECT_EQ(ratio.other, "cublaslt-tuned") << "the fastest of cuBLAS";
  EXPECT_NEAR(ratio.here.value, 0.9 / 0.85, 1e-9);
  EXPECT_EQ(ratio.judgement, Judgement::kReproduced);
  EXPECT_EQ(RatioOf(*model, "Triton fp16 against CUDA fp16").judgement, Judgement::kNotMeasured);
  EXPECT_EQ(RatioOf(*model, "Triton fp32 against torch fp32").essay, 245.0 / 254.0);
}

TEST(EssayTest, AttentionCrossesDtypesByTheIntervalsEnds) {
  const auto at = [](const std::string& dtype, const std::string& name, double seconds, int index) {
    return Made({.kernel = "attention",
                 .dtype = dtype,
                 .shape = "b=1,h=16,s=8192,d=64",
                 .implementation = name,
                 .seconds = seconds,
                 .case_index = index});
  };
  // The canonical shape is the catalog's word.
  auto rows = std::vector{at("fp32", "cuda/flash-fp32", 6e-3, 0), at("fp16", "triton", 1e-3, 1)};
  kbench::v1::CaseSpec spec;
  spec.set_kernel("attention");
  spec.set_dtype("fp16");
  spec.set_size("b=1,h=16,s=8192,d=64");
  for (Result& row : rows) row.mutable_case_()->set_shape(ShapeOf(spec));
  const auto model = Build(rows);
  const EssayRatio& ratio = RatioOf(*model, "Triton fp16 against CUDA fp32");
  EXPECT_DOUBLE_EQ(ratio.essay, 6.14);
  EXPECT_NEAR(ratio.here.value, 6, 1e-9);
  EXPECT_EQ(ratio.here.how, Ratio::How::kApart);
  EXPECT_EQ(ratio.judgement, Judgement::kReproduced);
}

TEST(EssayTest, AbsoluteFiguresAreJudgedOnItsOwnCardAlone) {
  Row row{.shape = "n=67108864", .seconds = 4e9 / 250e9};
  const auto elsewhere = Build({Made(row)});
  EXPECT_EQ(elsewhere->figures[0].essay, 258e9);
  EXPECT_NEAR(elsewhere->figures[0].here, 250e9, 1);
  EXPECT_FALSE(elsewhere->figures[0].reproduced.has_value());
  EXPECT_EQ(elsewhere->figures[1].row, nullptr);
  Result there = Made(row);
  there.mutable_environment()->set_device_name("NVIDIA L4");
  EXPECT_EQ(Build({there})->figures[0].reproduced, true) << "within 10 %";
  row.seconds = 4e9 / 200e9;
  there = Made(row);
  there.mutable_environment()->set_device_name("NVIDIA L4");
  EXPECT_EQ(Build({there})->figures[0].reproduced, false);
  there.mutable_environment()->set_device_name("NVIDIA L40S");
  EXPECT_FALSE(Build({there})->figures[0].reproduced.has_value()) << "another card";
}

std::vector<const RegimeClaim*> Numbered(const RoiModel& model, int number) {
  std::vector<const RegimeClaim*> claims;
  for (const RegimeClaim& claim : model.claims) {
    if (claim.number == number) claims.push_back(&claim);
  }
  return claims;
}

TEST(EssayTest, TheFourRegimesAreFoundWhereTheyLie) {
  auto rows =
      SumByN({65536, 1048576, 67108864, 1073741824}, {{"cuda/vectorized",
                                                       {3e-6, 20e-6, 400e-6, 4e-3},
                                                       {9e-6, 26e-6, 406e-6, 4.006e-3},
                                                       {"launch-bound"}},
                                                      {"triton",
                                                       {3e-6, 20e-6 / 0.95, 400e-6 / 0.96, 4e-3},
                                                       {45e-6, 41e-6, 430e-6, 4.03e-3},
                                                       {"launch-bound"}}});
  rows.push_back(Made(Matmul("tf32", "cublas", 1e-3)));
  rows.push_back(Made(Matmul("tf32", "triton", 0.93e-3)));
  const auto model = Build(rows);
  ASSERT_EQ(Numbered(*model, 1).size(), 1u);
  EXPECT_EQ(Numbered(*model, 1)[0]->sizes, "n=64Ki");
  EXPECT_NEAR(Numbered(*model, 1)[0]->least.value, 0.2, 1e-9) << "5 times slower";
  EXPECT_EQ(Numbered(*model, 1)[0]->judgement, Judgement::kReproduced);
  EXPECT_EQ(Numbered(*model, 2)[0]->sizes, "n=1Mi to n=64Mi");
  EXPECT_EQ(Numbered(*model, 2)[0]->judgement, Judgement::kReproduced);
  EXPECT_EQ(Numbered(*model, 3)[0]->sizes, "n=1Gi");
  EXPECT_EQ(Numbered(*model, 3)[0]->judgement, Judgement::kReproduced);
  ASSERT_EQ(Numbered(*model, 4).size(), 1u);
  EXPECT_NEAR(Numbered(*model, 4)[0]->least.value, 1 / 0.93, 1e-9);
  EXPECT_EQ(Numbered(*model, 4)[0]->judgement, Judgement::kReproduced);
}

TEST(EssayTest, WithoutABoundaryTheLargestSizeIsLarge) {
  const auto model =
      Build(SumByN({1048576, 67108864, 1073741824}, {{"cuda/vectorized", {20e-6, 400e-6, 4e-3}},
                                                     {"triton", {22e-6, 440e-6, 4.4e-3}}}));
  EXPECT_EQ(Numbered(*model, 2)[0]->sizes, "n=1Mi to n=64Mi");
  EXPECT_EQ(Numbered(*model, 3)[0]->sizes, "n=1Gi");
  EXPECT_EQ(Numbered(*model, 3)[0]->judgement, Judgement::kNotReproduced) << "still behind";
  EXPECT_EQ(Numbered(*model, 4)[0]->judgement, Judgement::kNotMeasured);
  EXPECT_EQ(Numbered(*model, 4)[0]->series, nullptr);
}

TEST(EssayTest, ACpuReproducesNothing) {
  const auto model =
      Build(SumByN({1024, 67108864}, {{"cpu/naive", {1e-6, 1e-3}}, {"torch", {2e-6, 1e-3}}}));
  for (const EssayRatio& ratio : model->ratios) {
    EXPECT_EQ(ratio.judgement, Judgement::kNotMeasured) << ratio.what;
  }
  for (const RegimeClaim& claim : model->claims) EXPECT_EQ(claim.series, nullptr);
}

}  // namespace
}  // namespace kbench::client
