#include "worker/experiment/regime.h"

#include <gtest/gtest.h>

namespace kbench::experiment {
namespace {

Regime Of(const Work& work, double device, double submit = 0, double null_kernel = 0) {
  return RegimeOf(
      work, Rates(work, device),
      {.device_seconds = device, .submit_seconds = submit, .null_kernel_seconds = null_kernel});
}

TEST(Regime, FollowsTheLargerShareOfTheDatasheet) {
  const Work matmul{.flops = 2e12, .bytes = 1e9, .peak_flops = 4e12, .peak_bandwidth = 10e9};
  EXPECT_EQ(Of(matmul, 1, 0.1).name, "compute-bound");
  EXPECT_EQ(Of(matmul, 1, 0.1).reason,
            "50 % of the datasheet's arithmetic rate, 10 % of the datasheet's bandwidth");
  const Work sum{.flops = 1e9, .bytes = 4e9, .peak_flops = 4e12, .peak_bandwidth = 10e9};
  EXPECT_EQ(Of(sum, 1).name, "memory-bound");
}

TEST(Regime, MeasuredRoofsOutrankTheDatasheet) {
  Work work{.flops = 2e12, .bytes = 1e9, .peak_flops = 4e12, .peak_bandwidth = 10e9};
  work.roof_flops = 40e12;  // a share of 5 % now
  work.roof_bandwidth = 2e9;
  work.traffic = "read";
  const Regime regime = Of(work, 1);
  EXPECT_EQ(regime.name, "memory-bound");
  EXPECT_EQ(regime.reason,
            "50 % of the measured read bandwidth, 5 % of the measured arithmetic rate");
}

TEST(Regime, LaunchBound) {
  const Work work{.flops = 2e12, .bytes = 1e9, .peak_flops = 4e12, .peak_bandwidth = 10e9};
  EXPECT_EQ(Of(work, 4e-6, 8.3e-6).name, "launch-bound");
  EXPECT_EQ(Of(work, 4e-6, 8.3e-6).reason,
            "the host takes 8.30 us to enqueue a launch that runs for 4.00 us");
  EXPECT_EQ(Of(work, 5e-6, 1e-6, 3.3e-6).name, "launch-bound");
  EXPECT_EQ(Of(work, 5e-6, 1e-6, 3.3e-6).reason, "an empty kernel takes 3.30 us of its 5.00 us");
  EXPECT_EQ(Of(work, 7e-6, 1e-6, 3.3e-6).name, "compute-bound");
  EXPECT_EQ(Of(Work{}, 1).name, "launch-bound");
  EXPECT_EQ(Of(Work{}, 1).reason, "it computes nothing and moves no data");
}

TEST(Regime, WithoutRoofsOnlyTheClearCases) {
  const auto regime = [](double flops, double bytes) {
    return Of(Work{.flops = flops, .bytes = bytes}, 1);
  };
  EXPECT_EQ(regime(1, 4).name, "memory-bound");
  EXPECT_EQ(regime(1, 4).reason, "0.25 FLOP for each byte; the device's roofs are not known");
  EXPECT_EQ(regime(1000, 1).name, "compute-bound");
  EXPECT_EQ(regime(20, 1).name, "");
  EXPECT_EQ(regime(20, 0).name, "compute-bound");
}

TEST(Regime, ACopyNeedsNoArithmeticRoof) {
  Work copy{.bytes = 1e9, .roof_bandwidth = 2e9};
  copy.traffic = "copy";
  EXPECT_EQ(Of(copy, 1).name, "memory-bound");
  EXPECT_EQ(Of(copy, 0).name, "");
}

}  // namespace
}  // namespace kbench::experiment
