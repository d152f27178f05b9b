#include "worker/experiment/budget.h"

#include <gtest/gtest.h>

namespace kbench::experiment {
namespace {

TEST(Budget, LimitLeavesEightLaunches) {
  EXPECT_DOUBLE_EQ(LaunchLimit(56, 0), 7);
  EXPECT_DOUBLE_EQ(LaunchLimit(56, 24), 4);
  EXPECT_EQ(LaunchLimit(10, 24), 0);
}

TEST(Budget, TwoLibrariesOfThreeSecondsFitAMinute) {
  const double usable = kDefaultCaseSeconds - ReportReserve(kDefaultCaseSeconds);
  EXPECT_TRUE(DropUntilFits({{3, true}, {3, false}}, kMinLaunches, usable).empty());
  // The plain loop is refused before it is called once.
  EXPECT_GT(120, LaunchLimit(usable, 3 * kMinLaunches));
}

TEST(Budget, DropsTheSlowestFirstAndTheBaselineLast) {
  const std::vector<LaunchCost> costs = {{5, true}, {1, false}, {4, false}, {2, false}};
  EXPECT_EQ(DropUntilFits(costs, 8, 96), (std::vector<std::size_t>{}));
  EXPECT_EQ(DropUntilFits(costs, 8, 70), (std::vector<std::size_t>{2}));
  EXPECT_EQ(DropUntilFits(costs, 8, 41), (std::vector<std::size_t>{2, 3, 1}));
  EXPECT_EQ(DropUntilFits(costs, 8, 1), (std::vector<std::size_t>{2, 3, 1, 0}));
}

TEST(Budget, AHangLeavesTimeForTheOthers) {
  EXPECT_DOUBLE_EQ(FairShare(60, 3), 15);
  EXPECT_DOUBLE_EQ(FairShare(60, 1), 30);
  EXPECT_GT(FairShare(-1, 1), 0);
}

TEST(Budget, SamplesOfARound) {
  EXPECT_EQ(FullSamples({.device_seconds = 0.1, .pace_seconds = 0.1}), 1);
  EXPECT_EQ(FullSamples({.device_seconds = 0.049, .pace_seconds = 0.05}), 10);
  EXPECT_EQ(FullSamples({.device_seconds = 0.001, .pace_seconds = 0.001}), 10);
  EXPECT_EQ(FullSamples({.device_seconds = 100e-6, .pace_seconds = 150e-6}), 100);
  EXPECT_EQ(FullSamples({.device_seconds = 3e-6, .pace_seconds = 40e-6}), 1000);
  // A flush far longer than the kernel bounds the visit.
  EXPECT_EQ(FullSamples({.device_seconds = 3e-6, .pace_seconds = 5e-3}), 100);
  EXPECT_EQ(FullSamples({}), 10);
}

TEST(Budget, AVisitHasAnEvenNumberOfSamplesOrOne) {
  for (double device = 1e-6; device < 0.2; device *= 1.037) {
    for (const double pace : {1.01, 1.7, 30.0, 3000.0}) {
      const SampleCost cost{.device_seconds = device, .pace_seconds = device * pace};
      const int full = FullSamples(cost);
      EXPECT_TRUE(full == 1 || full % 2 == 0) << device << " " << full;
      EXPECT_LE(full, MostSamples(cost));
      EXPECT_EQ(MostSamples(cost) % 2, 0);
      for (double seconds = 0.01; seconds < 20; seconds *= 1.3) {
        const int count = SamplesOfRound({cost}, 8, seconds)[0];
        EXPECT_TRUE(count == 1 || count % 2 == 0) << device << " " << count;
      }
    }
  }
}

TEST(Budget, ASteadyVisitIsPlannedByItsTime) {
  SampleCost cost{.device_seconds = 175e-6, .pace_seconds = 2.1e-3};
  EXPECT_EQ(LeadSamples(cost), 0);
  EXPECT_EQ(FullSamples(cost), 58);
  cost.steady_seconds = kSteadyVisitSeconds;
  EXPECT_EQ(LeadSamples(cost), 48);
  EXPECT_EQ(FullSamples(cost), 142);
  cost = {.device_seconds = 0.1, .pace_seconds = 0.1, .steady_seconds = kSteadyVisitSeconds};
  EXPECT_EQ(LeadSamples(cost), 1);
  EXPECT_EQ(FullSamples(cost), 2);
  cost = {.device_seconds = 0.6, .pace_seconds = 0.6, .steady_seconds = kSteadyVisitSeconds};
  EXPECT_EQ(FullSamples(cost), 1);
}

TEST(Budget, ASteadyCaseIsBounded) {
  EXPECT_DOUBLE_EQ(SteadyMeasureSeconds(1), 30);
  EXPECT_DOUBLE_EQ(SteadyMeasureSeconds(13), 20);
  EXPECT_DOUBLE_EQ(SteadyMeasureSeconds(100), 10);
  // Three cells behind 10 s of warm-up: eight rounds within 10 s.
  const SampleCost cost{.device_seconds = 175e-6,
                        .pace_seconds = 2.1e-3,
                        .visit_seconds = kSteadyLeadSeconds + 0.01,
                        .steady_seconds = kSteadyVisitSeconds};
  const std::vector<SampleCost> costs(3, cost);
  EXPECT_LE(8 * PassSeconds(costs, SamplesOfRound(costs, 8, 30)), 10);
}

TEST(Budget, WhatAVisitCostsBesideItsSamplesIsCountedToo) {
  const SampleCost cost{.device_seconds = 1e-3, .pace_seconds = 2e-3, .visit_seconds = 5e-3};
  EXPECT_DOUBLE_EQ(PassSeconds({cost, cost}, {10, 4}), 0.038);
  // 8 rounds in 0.104 s: 13 ms each, of which 8 are left for samples.
  EXPECT_EQ(SamplesOfRound({cost}, 8, 0.104), (std::vector<int>{4}));
  EXPECT_EQ(SamplesOfRound({cost}, 8, 0.01), (std::vector<int>{1}));
}

TEST(Budget, ShortTimeShrinksRoundsButNeverBelowOneSample) {
  const std::vector<SampleCost> costs = {{0.040, 0.040}, {0.001, 0.001}, {0.2, 0.2}};
  EXPECT_EQ(SamplesOfRound(costs, 8, 100), (std::vector<int>{10, 10, 1}));
  EXPECT_EQ(SamplesOfRound(costs, 8, 2.5), (std::vector<int>{4, 4, 1}));
  EXPECT_EQ(SamplesOfRound(costs, 8, 0), (std::vector<int>{1, 1, 1}));
}

TEST(Budget, QuickSpendsLess) {
  EXPECT_LT(EffortFor(0.02, false).soft_measure_seconds, 2);
  EXPECT_GT(EffortFor(0.005, false).soft_measure_seconds, 10);
  EXPECT_GE(EffortFor(0.02, true).warm_min_seconds, 3);
}

}  // namespace
}  // namespace kbench::experiment
