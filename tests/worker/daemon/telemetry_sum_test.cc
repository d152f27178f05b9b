#include "worker/daemon/telemetry_sum.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kbench {
namespace {

using testing::ElementsAre;

v1::Telemetry Round(double clock, double celsius, double foreign) {
  v1::Telemetry telemetry;
  telemetry.set_sm_clock_hertz(clock);
  telemetry.set_sm_clock_low_hertz(clock);
  telemetry.set_sm_clock_high_hertz(clock);
  telemetry.set_temperature_celsius(celsius);
  telemetry.set_foreign_utilization(foreign);
  return telemetry;
}

TEST(TelemetrySum, MeansExtremesAndSums) {
  TelemetrySum sum;
  v1::Telemetry first = Round(1e9, 50, 0.1);
  (*first.mutable_throttle_seconds())["POWER_CAP"] = 0.25;
  first.add_throttle_reasons("POWER_CAP");
  first.set_ecc_errors(1);
  first.set_energy_joules(30);
  first.set_busy_mig_siblings(2);
  v1::Telemetry second = Round(2e9, 40, 0.4);
  (*second.mutable_throttle_seconds())["POWER_CAP"] = 0.5;
  second.set_ecc_errors(2);
  sum.Add(first, 1, 10);
  sum.Add(second, 3, 1000);
  const v1::Telemetry mean = sum.Mean();
  EXPECT_DOUBLE_EQ(mean.sm_clock_hertz(), 1.75e9);
  EXPECT_EQ(mean.sm_clock_low_hertz(), 1e9);
  EXPECT_EQ(mean.sm_clock_high_hertz(), 2e9);
  EXPECT_EQ(mean.temperature_celsius(), 50);
  EXPECT_DOUBLE_EQ(mean.throttle_seconds().at("POWER_CAP"), 0.75);
  EXPECT_THAT(mean.throttle_reasons(), ElementsAre("POWER_CAP"));
  EXPECT_EQ(mean.ecc_errors(), 3);
  EXPECT_EQ(mean.busy_mig_siblings(), 2);
  EXPECT_NEAR(mean.foreign_utilization(), 0.325, 1e-12);
  EXPECT_DOUBLE_EQ(mean.energy_joules_per_launch(), 3) << "only launches whose energy is known";
}

TEST(TelemetrySum, OneUnknownRoundLeavesForeignWorkUnknown) {
  TelemetrySum sum;
  sum.Add(Round(1e9, 40, 0), 1, 1);
  sum.Add(Round(1e9, 40, -1), 1, 1);
  EXPECT_EQ(sum.Mean().foreign_utilization(), -1);
}

TEST(TelemetrySum, NothingAddedIsZero) {
  EXPECT_EQ(TelemetrySum().Mean().sm_clock_hertz(), 0);
  EXPECT_EQ(TelemetrySum().Mean().energy_joules_per_launch(), 0);
}

}  // namespace
}  // namespace kbench
