#include "worker/experiment/summary.h"

#include <gmock/gmock.h>
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
  // Six rounds cover 96.9 %: nearly the whole range for the 96.8 % that the last look claims.
  EXPECT_NEAR(time.low(), 1, 0.05);
  EXPECT_NEAR(time.high(), 6, 0.05);
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

TEST(DeviceTime, KeepsTheRoundsForLaterComparisons) {
  const auto time = DeviceTime(Record({3, 1, 2}, 7));
  EXPECT_THAT(time.round_medians(), testing::ElementsAre(3, 1, 2));
  EXPECT_THAT(time.round_numbers(), testing::ElementsAre(7, 8, 9));
  EXPECT_THAT(time.round_clocks(), testing::ElementsAre(1e9, 1e9, 1e9));
  EXPECT_EQ(SubmitTime(Record({3, 1, 2})).round_medians_size(), 0);
}

TEST(CallTime, EachCallStandsForItself) {
  EXPECT_EQ(CallTime({}).samples(), 0);
  const auto calls = CallTime({7, 1, 2, 3, 4, 5, 6});
  EXPECT_EQ(calls.samples(), 7);
  EXPECT_DOUBLE_EQ(calls.median(), 4);
  EXPECT_GE(calls.low(), 1);
  EXPECT_LT(calls.low(), 4);
  EXPECT_LE(calls.high(), 7);
  EXPECT_EQ(CallTime({1.5}).high(), 0) << "one call has no interval";
}

TEST(DeviceTime, HistoryIntervalHoldsWhatChangesBetweenSessions) {
  CellRecord record = Record(std::vector<double>(8, 1.0));  // no noise of its own
  const auto time = DeviceTime(record, 0.01);
  EXPECT_DOUBLE_EQ(time.low(), 1);
  EXPECT_DOUBLE_EQ(time.high(), 1);
  EXPECT_NEAR(time.history_low(), 1 - 1.96 * 0.01, 1e-5);
  EXPECT_NEAR(time.history_high(), 1 + 1.96 * 0.01, 1e-5);
  EXPECT_NEAR(DeviceTime(record).history_high(), 1 + 1.96 * 0.003, 1e-5) << "the prior";
  EXPECT_EQ(DeviceTime(Record({1, 1, 1})).history_high(), 0) << "no interval, no history";
}

TEST(DeviceTime, Lag1CorrelationWithinRounds) {
  CellRecord record;
  for (int r = 0; r < 8; ++r) {
    RoundRecord round;
    for (int i = 0; i < 50; ++i) round.device_seconds.push_back(1 + (i / 10 % 2 == 0 ? 0.01 : 0));
    record.Add(round);
  }
  EXPECT_GT(DeviceTime(record).lag1_correlation(), 0.7);
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
  EXPECT_EQ(rates.roof_flops_ratio(), 0);
  EXPECT_EQ(rates.roof_bandwidth_ratio(), 0);
  EXPECT_EQ(Rates(work, 0).flops_per_second(), 0);
}

TEST(Rates, SharesOfTheMeasuredRoof) {
  v1::Calibration calibration;
  (*calibration.mutable_matmul_flops())["fp16"] = 2.5e12;
  calibration.set_read_bandwidth(4e9);
  calibration.set_write_bandwidth(3e9);
  calibration.set_copy_bandwidth(2e9);
  Work work{.flops = 2e12, .bytes = 1e9};
  AddRoofs(calibration, "fp16", 1e9, 4, &work);
  EXPECT_EQ(work.traffic, "read");
  EXPECT_DOUBLE_EQ(Rates(work, 1).roof_flops_ratio(), 0.8);
  EXPECT_DOUBLE_EQ(Rates(work, 1).roof_bandwidth_ratio(), 0.25);
  AddRoofs(calibration, "fp16", 0.5e9, 0.5e9, &work);
  EXPECT_EQ(work.traffic, "copy");
  EXPECT_DOUBLE_EQ(Rates(work, 1).roof_bandwidth_ratio(), 0.5);
  AddRoofs(calibration, "fp16", 0, 1e9, &work);
  EXPECT_EQ(work.traffic, "write");
  EXPECT_DOUBLE_EQ(Rates(work, 1).roof_bandwidth_ratio(), 1e9 / 3e9);
}

TEST(Rates, UnknownRoofsStayZero) {
  Work work{.flops = 1, .bytes = 1};
  AddRoofs(v1::Calibration(), "fp32", 1, 0, &work);
  EXPECT_EQ(Rates(work, 1).roof_flops_ratio(), 0);
  EXPECT_EQ(Rates(work, 1).roof_bandwidth_ratio(), 0);
}

}  // namespace
}  // namespace kbench::experiment
