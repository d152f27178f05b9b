#include "worker/experiment/signs.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace kbench::experiment {
namespace {

std::vector<double> Noise(int n, double centre, double sd, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> gauss(centre, sd);
  std::vector<double> values(static_cast<std::size_t>(n));
  for (double& value : values) value = gauss(random);
  return values;
}

TEST(Drift, SteadyRiseIsDrift) {
  std::vector<double> medians = Noise(12, 1, 0.001, 1);
  for (std::size_t i = 0; i < medians.size(); ++i) medians[i] += 0.005 * static_cast<double>(i);
  const Drift drift = DriftOf(medians, 0.005);
  EXPECT_TRUE(drift.drifting);
  EXPECT_NEAR(drift.change_ratio, 0.055, 0.005);
}

TEST(Drift, RiseWithinTheTargetIsNot) {
  std::vector<double> medians;
  for (int i = 0; i < 12; ++i) medians.push_back(1 + 0.0005 * i);
  EXPECT_FALSE(DriftOf(medians, 0.005).drifting);
}

TEST(Drift, FewRoundsAreNeverDrift) {
  EXPECT_FALSE(DriftOf(std::vector<double>{1, 2, 3, 4, 5, 6, 7}, 0.005).drifting);
}

TEST(Drift, NoiseIsRarelyDrift) {
  int alarms = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    alarms += DriftOf(Noise(18, 1, 0.01, seed), 0.005).drifting;
  }
  EXPECT_LT(alarms, 6);
}

TEST(Modes, TwoModesAreFound) {
  std::vector<double> samples = Noise(60, 1.0, 0.002, 1);
  const auto slow = Noise(40, 1.2, 0.002, 2);
  samples.insert(samples.end(), slow.begin(), slow.end());
  const Modes modes = ModesOf(samples, 0);
  EXPECT_TRUE(modes.bimodal);
  EXPECT_NEAR(modes.low, 1.0, 0.001);
  EXPECT_NEAR(modes.high, 1.2, 0.001);
  EXPECT_DOUBLE_EQ(modes.low_share, 0.6);
}

TEST(Modes, OutliersAreNotAMode) {
  std::vector<double> samples = Noise(95, 1.0, 0.002, 1);
  for (int i = 0; i < 5; ++i) samples.push_back(2.0 + 0.001 * i);
  EXPECT_FALSE(ModesOf(samples, 0).bimodal);
}

TEST(Modes, StepsOfTheClockAreNotModes) {
  std::vector<double> samples;
  for (int i = 0; i < 100; ++i) samples.push_back(3e-6 + (i % 2) * 0.5e-6);
  EXPECT_FALSE(ModesOf(samples, 0.5e-6).bimodal);
  EXPECT_TRUE(ModesOf(samples, 0.01e-6).bimodal);
}

TEST(Modes, OneModeIsRarelyTwo) {
  int alarms = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    alarms += ModesOf(Noise(100, 1, 0.02, seed), 0).bimodal;
  }
  EXPECT_EQ(alarms, 0);
}

TEST(RelativeIqr, IsTheSpreadOfTheMiddleHalf) {
  EXPECT_DOUBLE_EQ(RelativeIqr(std::vector<double>{1, 2, 3, 4, 5}), 2.0 / 3);
  EXPECT_EQ(RelativeIqr(std::vector<double>{1, 2, 3}), 0);
}

}  // namespace
}  // namespace kbench::experiment
