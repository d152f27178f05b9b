#include "worker/experiment/summary.h"

#include <gtest/gtest.h>

namespace kbench::experiment {
namespace {

CellRecord Record(const std::vector<double>& medians, int first_round = 0) {
  CellRecord record;
  for (std::size_t i = 0; i < medians.size(); ++i) {
    RoundRecord round;
    round.round = first_round + static_cast<int>(i);
    round.device_seconds = {medians[i] * 0.9, medians[i], medians[i] * 1.1};
    round.submit_seconds = {1e-6, 2e-6, 3e-6};
    round.discarded_samples = 1;
    round.clock_hertz = 1e9;
    record.Add(round);
  }
  return record;
}

TEST(DeviceTime, CentreComesFromRoundMedians) {
  CellRecord record = Record({1, 2, 3, 4, 5, 6});
  const auto time = DeviceTime(record);
  EXPECT_DOUBLE_EQ(time.median(), 3.5);
  EXPECT_DOUBLE_EQ(time.low(), 1);
  EXPECT_DOUBLE_EQ(time.high(), 6);
  EXPECT_DOUBLE_EQ(time.confidence(), 0.95);
  EXPECT_DOUBLE_EQ(time.min(), 0.9);
  EXPECT_DOUBLE_EQ(time.max(), 6.6);
  EXPECT_EQ(time.samples(), 18);
  EXPECT_EQ(time.rounds(), 6);
  EXPECT_EQ(time.discarded_samples(), 6);
  EXPECT_EQ(time.p99(), 0);
  EXPECT_DOUBLE_EQ(SubmitTime(record).median(), 2e-6);
  EXPECT_DOUBLE_EQ(DeviceCycles(record, time.median()), 3.5e9);
}

TEST(DeviceTime, FewRoundsHaveNoInterval) {
  const auto time = DeviceTime(Record({1, 2, 3, 4, 5}));
  EXPECT_EQ(time.low(), 0);
  EXPECT_EQ(time.high(), 0);
  EXPECT_EQ(time.confidence(), 0);
}

TEST(DeviceTime, EmptyRecordIsZeroNotNan) {
  const auto time = DeviceTime(CellRecord{});
  EXPECT_EQ(time.median(), 0);
  EXPECT_EQ(time.samples(), 0);
}

TEST(DeviceTime, RestartCountsTheRoundsItDrops) {
  CellRecord record = Record({1, 2, 3});
  record.Restart();
  EXPECT_EQ(DeviceTime(record).discarded_rounds(), 3);
  EXPECT_EQ(DeviceTime(record).rounds(), 0);
}

TEST(Rates, SharesOfThePeak) {
  const Work work{.flops = 2e12, .bytes = 1e9, .peak_flops = 4e12, .peak_bandwidth = 10e9};
  const auto rates = Rates(work, 1.0);
  EXPECT_DOUBLE_EQ(rates.flops_per_second(), 2e12);
  EXPECT_DOUBLE_EQ(rates.peak_flops_ratio(), 0.5);
  EXPECT_DOUBLE_EQ(rates.peak_bandwidth_ratio(), 0.1);
  EXPECT_EQ(Rates(work, 0).flops_per_second(), 0);
}

TEST(Regime, FollowsTheLargerShare) {
  const Work work{.flops = 2e12, .bytes = 1e9, .peak_flops = 4e12, .peak_bandwidth = 10e9};
  EXPECT_EQ(Regime(work, Rates(work, 1), 1, 0.1), "compute-bound");
  EXPECT_EQ(Regime(work, Rates(work, 1), 1, 2), "launch-bound");
  const Work sum{.flops = 1e9, .bytes = 4e9, .peak_flops = 4e12, .peak_bandwidth = 10e9};
  EXPECT_EQ(Regime(sum, Rates(sum, 1), 1, 0), "memory-bound");
}

TEST(Regime, WithoutPeaksOnlyTheClearCases) {
  const auto regime = [](double flops, double bytes) {
    const Work work{.flops = flops, .bytes = bytes};
    return Regime(work, Rates(work, 1), 1, 0);
  };
  EXPECT_EQ(regime(1, 4), "memory-bound");
  EXPECT_EQ(regime(1000, 1), "compute-bound");
  EXPECT_EQ(regime(20, 1), "");
  EXPECT_EQ(regime(0, 0), "launch-bound");
}

TEST(Compare, PairsByRoundAndIgnoresTheRest) {
  // The baseline's extra rounds were ten times slower; pairs say: own is twice as fast.
  CellRecord baseline = Record({2, 4, 6, 8, 10, 12, 200, 200, 200});
  const CellRecord own = Record({1, 2, 3, 4, 5, 6});
  v1::BaselineComparison comparison;
  ASSERT_TRUE(Compare("cublas", baseline, own, &comparison));
  EXPECT_EQ(comparison.baseline(), "cublas");
  EXPECT_NEAR(comparison.speedup(), 2, 1e-12);
  EXPECT_NEAR(comparison.low(), 2, 1e-12);
  EXPECT_FALSE(Compare("cublas", baseline, Record({1, 1}, 100), &comparison));
}

}  // namespace
}  // namespace kbench::experiment
