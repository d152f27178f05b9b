#include "worker/experiment/passes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <vector>

#include "worker/experiment/stop_rule.h"

namespace kbench::experiment {
namespace {

using testing::ElementsAre;

TEST(VisitsOfRound, OnePassIsTheOrder) {
  EXPECT_THAT(VisitsOfRound({2, 0, 1}, {10, 20, 1}, {100, 100, 100}, 1),
              ElementsAre(PlannedVisit{2, 1, 0}, PlannedVisit{0, 10, 0}, PlannedVisit{1, 20, 0}));
}

TEST(VisitsOfRound, PassesTurnBackAndNeighboursAreOneVisit) {
  EXPECT_THAT(VisitsOfRound({1, 0}, {10, 20}, {100, 100}, 3),
              ElementsAre(PlannedVisit{1, 20, 0}, PlannedVisit{0, 20, 0}, PlannedVisit{1, 40, 1},
                          PlannedVisit{0, 10, 2}));
  EXPECT_THAT(VisitsOfRound({0}, {10}, {25}, 5),
              ElementsAre(PlannedVisit{0, 20, 0}, PlannedVisit{0, 20, 2}, PlannedVisit{0, 10, 4}));
  EXPECT_THAT(VisitsOfRound({0, 1}, {10, 10}, {10, 10}, 2).size(), 4u);
}

TEST(VisitsOfRound, EveryCellGetsItsSamplesInEachPass) {
  for (int passes = 1; passes < 9; ++passes) {
    std::map<std::size_t, int> samples;
    for (const auto& visit : VisitsOfRound({3, 1, 0, 2}, {2, 4, 6, 8}, {7, 7, 7, 99}, passes)) {
      samples[visit.cell] += visit.samples;
      EXPECT_EQ(visit.samples % 2, 0);
    }
    for (int cell = 0; cell < 4; ++cell) {
      EXPECT_EQ(samples[static_cast<std::size_t>(cell)], passes * 2 * (cell + 1));
    }
  }
}

TEST(StretchedPasses, FillsTheTimeAndNeverMore) {
  EXPECT_EQ(StretchedPasses(0.05, 1.5), 3);
  EXPECT_EQ(StretchedPasses(0.05, 0.79), 1);
  EXPECT_EQ(StretchedPasses(0.05, 0), 1);
  EXPECT_EQ(StretchedPasses(0, 1), 1);
}

Unsettled After(int rounds, double ratio, int passes = 1) {
  return {std::vector<int>(static_cast<std::size_t>(rounds), 10 * passes), ratio, 10};
}

// The interval of ten rounds over that of all, for the same scatter.
double Gain() { return NormalHalfWidth(10) / NormalHalfWidth(kMaxRounds); }

TEST(ExpectedRatio, ShrinksWithTheRoundsAndWithTheRootOfThePasses) {
  EXPECT_NEAR(Gain(), 2, 0.15);
  EXPECT_NEAR(ExpectedRatio(After(10, 0.02), 1), 0.02 / Gain(), 1e-12);
  EXPECT_NEAR(ExpectedRatio(After(10, 0.02, 3), 3), 0.02 / Gain(), 1e-12);
  // 30 rounds of four passes behind ten of one: as many as 40 of 1.75^2.
  EXPECT_NEAR(ExpectedRatio(After(10, 0.02), 4), 0.02 / Gain() / 1.75, 1e-12);
  // An interim look claims more than the last one: its interval is wider than sqrt(40 / 8) times.
  EXPECT_LT(ExpectedRatio(After(8, 0.02), 1), 0.02 * std::sqrt(8.0 / 40) * 0.85);
}

TEST(EscalatedPasses, StaysWhereTheTargetIsInSight) {
  EXPECT_EQ(EscalatedPasses({{After(10, 0.0049 * Gain())}}, 0.005, 1, 0.05, 30), 1);
  EXPECT_EQ(EscalatedPasses({{After(10, 0.0049 * Gain(), 3)}}, 0.005, 3, 0.05, 30), 3);
  EXPECT_EQ(EscalatedPasses({}, 0.005, 3, 0.05, 30), 3);
  EXPECT_EQ(EscalatedPasses({{After(10, 0)}}, 0.005, 2, 0.05, 30), 2);
  EXPECT_EQ(EscalatedPasses({{After(5, 0.02)}}, 0.005, 2, 0.05, 30), 2);
  EXPECT_EQ(EscalatedPasses({{After(40, 0.1)}}, 0.005, 2, 0.05, 30), 2);
}

TEST(EscalatedPasses, TakesWhatTheIntervalNeeds) {
  const Unsettled cell = After(10, 0.01 * Gain());
  const int passes = EscalatedPasses({{cell}}, 0.005, 1, 0.05, 30);
  EXPECT_LE(ExpectedRatio(cell, passes), 0.005);
  EXPECT_GT(ExpectedRatio(cell, passes - 1), 0.005);
}

TEST(EscalatedPasses, TakesNoMoreThanTheTimeHolds) {
  // 30 rounds of 0.05 s a pass in 6 s: four passes, which come near enough.
  const Unsettled cell = After(10, 0.01 * Gain());
  EXPECT_GT(ExpectedRatio(cell, 4), 0.005);
  EXPECT_EQ(EscalatedPasses({{cell}}, 0.005, 1, 0.05, 6), 4);
  EXPECT_EQ(EscalatedPasses({{cell}}, 0.005, 1, 0.05, 0), 1);
  EXPECT_EQ(EscalatedPasses({{cell}}, 0.005, 1, 0.05, -1), 1);
}

TEST(EscalatedPasses, SpendsNothingOnWhatIsOutOfReach) {
  const Unsettled lost = After(10, 0.03 * Gain());
  EXPECT_EQ(EscalatedPasses({{lost}}, 0.005, 2, 0.05, 6), 2);
  EXPECT_EQ(EscalatedPasses({{After(8, 0.02)}}, 1e-9, 1, 0.05, 30), 1);
  // One that can be helped is, beside one that cannot.
  EXPECT_EQ(EscalatedPasses({{lost, After(10, 0.01 * Gain())}}, 0.005, 1, 0.05, 6), 4);
}

}  // namespace
}  // namespace kbench::experiment
