#include "server/history/durations.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace kbench::history {
namespace {

using Basis = Duration::Basis;

CaseKey Matmul(const std::string& size, std::vector<std::string> implementations = {},
               const std::string& device = "gpu0") {
  return {"matmul", "fp32", "m=" + size + ",n=" + size + ",k=" + size + ",layout=nn",
          "cold",   device, std::move(implementations)};
}

TEST(Durations, NothingKnownIsTheDefaultWithAWideRange) {
  const Duration duration = Durations().Of(Matmul("1024"));
  EXPECT_EQ(duration.basis, Basis::kDefault);
  EXPECT_LT(duration.low, duration.seconds);
  EXPECT_GT(duration.high, duration.seconds);
}

TEST(Durations, TheSameCaseTakesAsLongAsBefore) {
  Durations durations;
  for (int i = 0; i < 20; ++i) durations.Record(Matmul("1024", {"cublas", "cuda"}), 8 + i % 2);
  const Duration duration = durations.Of(Matmul("1024", {"cublas", "cuda"}));
  EXPECT_EQ(duration.basis, Basis::kSame);
  EXPECT_NEAR(duration.seconds, 8.5, 0.3);
  EXPECT_LE(duration.low, 8);
  EXPECT_GE(duration.high, 9);
  EXPECT_LT(duration.high, 12);
}

TEST(Durations, FewerImplementationsTakeLessAndTheirSharesAreLearnt) {
  Durations durations;
  durations.Record(Matmul("1024", {"cublas", "cuda/naive"}), 10);
  EXPECT_NEAR(durations.Of(Matmul("1024", {"cublas"})).seconds, 5, 1e-9);
  for (int i = 0; i < 30; ++i) {
    durations.Record(Matmul("1024", {"cublas"}), 2);
    durations.Record(Matmul("1024", {"cublas", "cuda/naive"}), 10);
  }
  EXPECT_NEAR(durations.Of(Matmul("1024", {"cublas"})).seconds, 2, 0.3);
  EXPECT_NEAR(durations.Of(Matmul("1024", {"cuda/naive"})).seconds, 8, 0.5);
  EXPECT_NEAR(durations.Of(Matmul("1024", {"cublas", "triton"})).seconds, 4, 0.5)
      << "one never seen is taken for as long as the others";
}

TEST(Durations, NewerCasesCountMore) {
  Durations durations;
  for (int i = 0; i < 50; ++i) durations.Record(Matmul("1024", {"cuda"}), 30);
  for (int i = 0; i < 15; ++i) durations.Record(Matmul("1024", {"cuda"}), 5);
  EXPECT_NEAR(durations.Of(Matmul("1024", {"cuda"})).seconds, 5, 1.5);
}

TEST(Durations, AnotherSizeIsScaledFromTheNearest) {
  Durations durations;
  durations.Record(Matmul("1024", {"cuda"}), 4);
  durations.Record(Matmul("8192", {"cuda"}), 40);
  const Duration near_small = durations.Of(Matmul("1290", {"cuda"}));  // twice the work
  EXPECT_EQ(near_small.basis, Basis::kSize);
  EXPECT_NEAR(near_small.seconds, 4 * std::sqrt(2.0), 0.05);
  EXPECT_NEAR(durations.Of(Matmul("6502", {"cuda"})).seconds, 40 / std::sqrt(2.0), 0.5);
  EXPECT_LE(durations.Of(Matmul("32768", {"cuda"}), 60).seconds, 60) << "within the budget";
  EXPECT_GT(durations.Of(Matmul("64", {"cuda"})).seconds, 0.9) << "much does not shrink";
}

TEST(Durations, ThenTheKernelOnTheDeviceThenAnywhere) {
  Durations durations;
  durations.Record(Matmul("1024", {"cuda"}, "gpu0"), 4);
  durations.Record(Matmul("1024", {"cuda"}, "cpu"), 20);
  CaseKey other = Matmul("1024", {"cuda"}, "cpu");
  other.dtype = "fp64";
  EXPECT_EQ(durations.Of(other).basis, Basis::kKernel);
  EXPECT_NEAR(durations.Of(other).seconds, 20, 1e-9);
  other.device = "gpu7";
  EXPECT_NEAR(durations.Of(other).seconds, 12, 1e-9);
  other.kernel = "sum";
  EXPECT_EQ(durations.Of(other).basis, Basis::kDefault);
}

TEST(Durations, WhatIsUnknownToTheCatalogHurtsNothing) {
  Durations durations;
  durations.Record({"gone", "fp4", "x=1", "cold", "gpu0", {"cuda"}}, 7);
  EXPECT_NEAR(durations.Of({"gone", "fp4", "x=1", "cold", "gpu0", {"cuda"}}).seconds, 7, 1e-9);
  EXPECT_NEAR(durations.Of({"gone", "fp4", "x=2", "cold", "gpu0", {"cuda"}}).seconds, 7, 1e-9);
  for (const double bad : {0.0, -1.0, std::numeric_limits<double>::infinity(), std::nan("")}) {
    durations.Record(Matmul("1024", {"cuda"}), bad);
  }
  EXPECT_EQ(durations.Of(Matmul("1024", {"cuda"})).basis, Basis::kDefault);
}

}  // namespace
}  // namespace kbench::history
