#include "client/report/regimes.h"

#include "client/report/costs.h"
#include "client/report/truncation.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/report/report_samples.h"

namespace kbench::client {
namespace {

using kbench::v1::Result;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Made;
using testing::Row;
using testing::SumByN;
using State = Boundary::State;

struct Found {
  Evidence evidence;
  std::vector<Series> series;
  std::vector<SeriesRegimes> regimes;
};

// Stays where it is: its parts point into each other.
std::unique_ptr<Found> Find(const std::vector<Result>& rows) {
  auto found = std::make_unique<Found>();
  auto evidence = Gather(rows, "");
  EXPECT_TRUE(evidence.ok()) << evidence.status();
  found->evidence = *std::move(evidence);
  found->series = SeriesOf(found->evidence);
  found->regimes = RegimesOf(found->series);
  return found;
}

Row Case(const std::string& kernel, const std::string& dtype, const std::string& shape) {
  return {.kernel = kernel, .dtype = dtype, .shape = shape};
}

TEST(SeriesTest, CasesThatDifferInOneExtentAreASeries) {
  std::vector<Result> rows;
  for (const char* shape : {"n=1048576,depth=4", "n=1048576,depth=1", "n=1024,depth=30",
                            "n=1048576,depth=30", "n=4096,depth=30"}) {
    rows.push_back(Made(Case("chain", "fp32", shape)));
  }
  for (const char* m : {"256", "512"}) {
    const std::string of = m;
    rows.push_back(
        Made(Case("matmul", "tf32", "m=" + of + ",n=" + of + ",k=" + of + ",layout=nn")));
  }
  rows.push_back(Made(Case("softmax", "fp32", "rows=16,cols=4096")));
  const auto found = Find(rows);
  std::vector<std::string> titles;
  for (const Series& series : found->series) titles.push_back(series.Title());
  EXPECT_THAT(titles, ElementsAre("softmax fp32, cols=4096", "matmul tf32, by m=n=k",
                                  "chain fp32, n=1048576, by depth", "chain fp32, depth=30, by n"));
  const Series& depth = found->series[2];
  ASSERT_EQ(depth.points.size(), 3u) << "that of n=1048576 belongs to both";
  EXPECT_EQ(depth.points[0].extent, 1);
  EXPECT_EQ(depth.points[2].extent, 30);
  EXPECT_EQ(SizeText(found->series[1], 512), "512");
  EXPECT_EQ(SizeText(depth, 30), "depth=30");
}

TEST(SeriesTest, ExtentsReadAsTheyAreTyped) {
  EXPECT_EQ(ExtentText(4096), "4096");
  EXPECT_EQ(ExtentText(16384), "16Ki");
  EXPECT_EQ(ExtentText(67108864), "64Mi");
  EXPECT_EQ(ExtentText(1073741824), "1Gi");
  EXPECT_EQ(ExtentText(1000000), "1000000");
}

TEST(SidesTest, TheWholeIntervalDecides) {
  const auto side = [](double low, double high) {
    return SideOf(Ratio{(low + high) / 2, low, high, Ratio::How::kByRound});
  };
  EXPECT_EQ(side(0.94, 0.96), Side::kBehind);
  EXPECT_EQ(side(0.98, 1.02), Side::kTie);
  EXPECT_EQ(side(1.03, 1.04), Side::kAhead);
  EXPECT_EQ(side(0.97, 0.98), Side::kUnknown) << "over the border at 1/1.025";
  EXPECT_EQ(SideOf(Ratio{2, 0, 0, Ratio::How::kByRound}), Side::kUnknown) << "no interval";
}

// Launch-bound by calls at 2^16 and 2^18, then 90 % and 95 % of CUDA, a tie from 2^24 on.
std::vector<Result> AsTheEssay() {
  return SumByN({65536, 262144, 1048576, 4194304, 16777216, 67108864},
                {{"cuda/vectorized",
                  {3e-6, 4e-6, 20e-6, 40e-6, 100e-6, 400e-6},
                  {9e-6, 10e-6, 26e-6, 46e-6, 106e-6, 406e-6},
                  {"launch-bound"}},
                 {"triton",
                  {3e-6, 4e-6, 20e-6 / 0.90, 40e-6 / 0.95, 100e-6 / 0.99, 400e-6},
                  {45e-6, 46e-6, 40e-6, 60e-6, 110e-6, 410e-6}}});
}

TEST(RegimesTest, BoundariesLieWhereTheDataChange) {
  const auto found = Find(AsTheEssay());
  ASSERT_EQ(found->regimes.size(), 1u);
  const SeriesRegimes& one = found->regimes[0];
  EXPECT_EQ(one.subject, Role::kTriton);
  EXPECT_EQ(one.reference, Role::kHand);
  EXPECT_EQ(one.sizes[0].regime, Regime::kLaunch);
  EXPECT_THAT(one.sizes[0].why, HasSubstr("a call takes 45.00 us"));
  EXPECT_EQ(one.sizes[2].regime, Regime::kMemory);
  EXPECT_EQ(one.launch_end.state, State::kFound);
  EXPECT_EQ(one.launch_end.below, 262144);
  EXPECT_EQ(one.launch_end.above, 1048576);
  EXPECT_EQ(one.large.state, State::kFound);
  EXPECT_EQ(one.large.below, 4194304);
  EXPECT_EQ(one.large.above, 16777216);
  EXPECT_EQ(one.compute.state, State::kNever);
  EXPECT_EQ(BoundaryText(*one.series, one.large), "between n=4Mi and n=16Mi");
  EXPECT_EQ(BoundaryText(*one.series, one.compute), "not up to n=64Mi");
  // CUDA's own launch: at 2^16 by the worker's word, at 2^18 a call takes 2.5 times the work.
  ASSERT_EQ(one.launch_ends.size(), 2u);
  EXPECT_EQ(one.launch_ends[0].first, Role::kHand);
  EXPECT_EQ(one.launch_ends[0].second.above, 1048576);
}

TEST(RegimesTest, BehindToTheEndAndNeverBehindAreSaid) {
  const auto behind =
      Find(SumByN({1024, 2048}, {{"cuda/naive", {1e-3, 2e-3}}, {"triton", {1.2e-3, 2.3e-3}}}));
  EXPECT_EQ(behind->regimes[0].large.state, State::kNever);
  EXPECT_EQ(behind->regimes[0].launch_end.state, State::kAlways);
  const auto tie =
      Find(SumByN({1024, 2048}, {{"cuda/naive", {1e-3, 2e-3}}, {"triton", {1e-3, 2e-3}}}));
  EXPECT_EQ(tie->regimes[0].large.state, State::kAlways);
  EXPECT_EQ(BoundaryText(*tie->regimes[0].series, tie->regimes[0].large),
            "from the smallest size, n=1024, on");
}

TEST(RegimesTest, WhatComesAndGoesHasNoBoundary) {
  const auto found = Find(SumByN(
      {1024, 2048, 4096}, {{"cuda/naive", {1e-3, 2e-3, 3e-3}}, {"triton", {1e-3, 2.4e-3, 3e-3}}}));
  EXPECT_EQ(found->regimes[0].large.state, State::kUnclear);
}

TEST(RegimesTest, ComputeBoundByTheFastestRow) {
  const auto found =
      Find(SumByN({1024, 2048, 4096},
                  {{"cuda/naive", {9, 9, 9}, {}, {"launch-bound"}},
                   {"cublas", {1, 2, 3}, {}, {"memory-bound", "compute-bound", "compute-bound"}},
                   {"triton", {2, 3, 4}, {}, {"memory-bound", "memory-bound", "memory-bound"}}}));
  const SeriesRegimes& one = found->regimes[0];
  EXPECT_EQ(one.sizes[0].regime, Regime::kMemory);
  EXPECT_EQ(one.sizes[1].regime, Regime::kCompute) << "cublas is the fastest";
  EXPECT_EQ(one.compute.below, 1024);
  EXPECT_EQ(one.compute.above, 2048);
}

TEST(RegimesTest, WithoutTritonAnotherAbstractionIsAsked) {
  const auto torch =
      Find(SumByN({1024, 2048}, {{"cuda/naive", {1e-3, 2e-3}}, {"torch", {1e-3, 2e-3}}}));
  EXPECT_EQ(torch->regimes[0].subject, Role::kTorch);
  const auto alone = Find(SumByN({1024, 2048}, {{"cpu/naive", {1e-3, 2e-3}}}));
  EXPECT_EQ(alone->regimes[0].subject, Role::kOther);
  EXPECT_EQ(alone->regimes[0].reference, Role::kHand);
  EXPECT_EQ(alone->regimes[0].large.state, State::kNoData);
  EXPECT_EQ(alone->regimes[0].sizes[0].regime, Regime::kMemory);
}

TEST(LaunchCostsTest, TheSmallestSizeAndTheEssaysSmallSum) {
  std::vector<Result> rows;
  int index = 0;
  for (const char* n : {"65536", "262144", "1048576", "4194304"}) {
    const std::string shape = std::string("n=") + n;
    rows.push_back(Made({.shape = shape,
                         .implementation = "triton",
                         .submit = 30e-6,
                         .call = 40e-6,
                         .case_index = index}));
    rows.push_back(Made({.shape = shape, .submit = 4e-6, .call = 10e-6, .case_index = index++}));
  }
  const auto found = Find(rows);
  const auto costs = LaunchCostsOf(found->series);
  ASSERT_EQ(costs.size(), 2u);
  EXPECT_EQ(costs[0].extent, 65536);
  EXPECT_EQ(costs[1].extent, 1048576);
  ASSERT_EQ(costs[1].costs.size(), 2u);
  EXPECT_EQ(costs[1].costs[0].row->implementation(), "cuda/vectorized") << "by role";
  EXPECT_EQ(costs[1].costs[0].row, costs[1].reference);
  EXPECT_DOUBLE_EQ(costs[1].costs[1].end_to_end.value, 0.25);
  EXPECT_EQ(costs[1].costs[1].apart, true);
  EXPECT_FALSE(costs[1].costs[0].apart.has_value()) << "the reference";
  EXPECT_EQ(FloorOf(costs, Role::kTriton)->row->implementation(), "triton");
  EXPECT_EQ(FloorOf(costs, Role::kTorch), nullptr);
}

TEST(PricesTest, TheLaunchPathIsOfOneVariantAndTheGeneratorOfTheBest) {
  const auto at = [](const std::string& name, double seconds, double submit) {
    return Made(
        {.implementation = name, .seconds = seconds, .submit = submit, .call = seconds + submit});
  };
  const auto found = Find({at("cuda/vectorized", 100e-6, 3e-6), at("triton", 120e-6, 30e-6),
                           at("triton-aot", 121e-6, 4e-6)});
  const auto path = LaunchPathPrices(found->series);
  ASSERT_EQ(path.size(), 1u);
  EXPECT_EQ(path[0].title, "sum fp32 n=1Mi");
  EXPECT_NEAR(path[0].submit.value, 26e-6, 1e-12);
  EXPECT_NEAR(path[0].end_to_end.value, 25e-6, 1e-12);
  const auto generator = GeneratorPrices(found->series);
  ASSERT_EQ(generator.size(), 1u);
  EXPECT_NEAR(generator[0].device.value, 100.0 / 121, 1e-9);
  EXPECT_EQ(SubmitWithin(generator[0].submit), Judgement::kReproduced) << "1 us";
  const auto other = Find({at("triton/tma", 120e-6, 30e-6), at("triton-aot", 121e-6, 40e-6),
                           at("cuda/naive", 1e-3, 3e-6)});
  EXPECT_THAT(LaunchPathPrices(other->series), IsEmpty()) << "not the same kernel";
  EXPECT_EQ(SubmitWithin(GeneratorPrices(other->series)[0].submit), Judgement::kNotReproduced);
  EXPECT_EQ(SubmitWithin({}), Judgement::kNotMeasured);
  EXPECT_EQ(SubmitWithin({2e-6, 1e-6, 3e-6, true}), Judgement::kUndecided);
}

TEST(TruncationTest, TheErrorTellsHowInputsWereCut) {
  EXPECT_EQ(InputsOf(3e-4), Inputs::kRounded);
  EXPECT_EQ(InputsOf(7.8e-4), Inputs::kTruncated);
  EXPECT_EQ(InputsOf(2.5e-3), Inputs::kWorse);
  EXPECT_EQ(InputsOf(0), Inputs::kUnknown);
  Row row = Case("matmul", "tf32", "m=64,n=64,k=64,layout=nn");
  row.implementation = "cublas";
  row.error = 3e-4;
  Row triton = row;
  triton.implementation = "triton";
  triton.error = 7.8e-4;
  const auto rows = TruncationsOf(Find({Made(row), Made(triton)})->evidence);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(TruncationSentence(rows),
            "The error shows that inputs were truncated to tf32, not rounded: triton 7.8e-4. "
            "Rounded inputs: cublas 3.0e-4.");
  triton.error = 3.1e-4;
  EXPECT_EQ(TruncationSentence(TruncationsOf(Find({Made(row), Made(triton)})->evidence)),
            "Rounded inputs: cublas 3.0e-4, triton 3.1e-4.");
  EXPECT_EQ(TruncationSentence(TruncationsOf(Find({Made({})})->evidence)), "");
}

}  // namespace
}  // namespace kbench::client
