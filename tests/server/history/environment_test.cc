#include "server/history/environment.h"

#include <gtest/gtest.h>

#include "proto/support/cell_key.h"
#include "server/history/compare.h"
#include "server/history/points.h"

namespace kbench::history {
namespace {

v1::Result Gpu() {
  v1::Result result;
  result.set_name("results/k3f9x2ab-0-1");
  result.mutable_case_()->set_kernel("sum");
  result.mutable_create_time()->set_seconds(1000);
  result.set_mechanism("cuda-events");
  auto& environment = *result.mutable_environment();
  environment.set_device_name("H200");
  environment.set_device_uuid("GPU-1");
  environment.set_driver("580.95.05");
  environment.set_engine_version("0.7");
  environment.set_kbench_version("0.7");
  (*environment.mutable_libraries())["cublas"] = "13.0";
  (*environment.mutable_settings())["power_limit_watts"] = "700";
  (*environment.mutable_settings())["ecc"] = "on";
  (*environment.mutable_settings())["threads"] = "16";
  (*environment.mutable_settings())["cpus"] = "0-15";
  return result;
}

void Set(v1::Result& result, const char* key, const char* value) {
  (*result.mutable_environment()->mutable_settings())[key] = value;
}

TEST(Environment, OfAGpuLeavesTheHostOut) {
  const Environment expected = {{"device", "H200"},      {"card", "GPU-1"},
                                {"driver", "580.95.05"}, {"engine", "0.7"},
                                {"cublas", "13.0"},      {"mechanism", "cuda-events"},
                                {"ecc", "on"},           {"power limit in watts", "700"}};
  EXPECT_EQ(EnvironmentOf(Gpu()), expected);
}

TEST(Environment, OfAProcessorCountsItsThreads) {
  v1::Result cpu = Gpu();
  cpu.mutable_environment()->clear_device_uuid();
  EXPECT_EQ(EnvironmentOf(cpu).at("threads"), "16");
  v1::Result fewer = cpu;
  Set(fewer, "threads", "8");
  EXPECT_EQ(ChangeBetween(EnvironmentOf(cpu), EnvironmentOf(fewer)), "threads 16 -> 8");
}

struct Row {
  const char* change;
  void (*apply)(v1::Result&);
  bool refused;  // by CompareResults too: the machine, not the software
};
const Row kRows[] = {
    {"driver 580.95.05 -> 580.159.04",
     [](v1::Result& r) { r.mutable_environment()->set_driver("580.159.04"); }, true},
    {"engine 0.7 -> 0.8", [](v1::Result& r) { r.mutable_environment()->set_engine_version("0.8"); },
     false},
    {"cublas 13.0 -> 13.1",
     [](v1::Result& r) { (*r.mutable_environment()->mutable_libraries())["cublas"] = "13.1"; },
     false},
    {"cudnn none -> 9.19",
     [](v1::Result& r) { (*r.mutable_environment()->mutable_libraries())["cudnn"] = "9.19"; },
     false},
    {"power limit in watts 700 -> 500", [](v1::Result& r) { Set(r, "power_limit_watts", "500"); },
     true},
    {"application clocks none -> 1500/2600 MHz",
     [](v1::Result& r) { Set(r, "application_clocks", "1500/2600 MHz"); }, true},
    {"ecc on -> off", [](v1::Result& r) { Set(r, "ecc", "off"); }, true},
    {"mig profile none -> 1g.18gb", [](v1::Result& r) { Set(r, "mig_profile", "1g.18gb"); }, true},
    {"card GPU-1 -> GPU-2",
     [](v1::Result& r) { r.mutable_environment()->set_device_uuid("GPU-2"); }, false},
    {"mechanism cuda-events -> steady-clock",
     [](v1::Result& r) { r.set_mechanism("steady-clock"); }, true},
};

TEST(Environment, WhatOpensAnEpochAndWhatComparisonRefuses) {
  for (const Row& row : kRows) {
    const v1::Result a = Gpu();
    v1::Result b = Gpu();
    row.apply(b);
    EXPECT_EQ(ChangeBetween(EnvironmentOf(a), EnvironmentOf(b)), row.change);
    EXPECT_NE(EpochOf(a).id(), EpochOf(b).id()) << row.change;
    EXPECT_EQ(!KeyDifferences(a, b).empty(), row.refused) << row.change;
  }
}

TEST(Environment, VersionOfKbenchAndSettingsThatChangeNoSpeedOpenNone) {
  const v1::Result a = Gpu();
  v1::Result b = Gpu();
  b.mutable_environment()->set_kbench_version("0.8");
  (*b.mutable_configuration())["candidate"] = "128x128";
  Set(b, "persistence", "on");
  Set(b, "threads", "2");
  EXPECT_EQ(EpochOf(a).id(), EpochOf(b).id());
  EXPECT_EQ(ChangeBetween(EnvironmentOf(a), EnvironmentOf(b)), "");
}

TEST(Environment, TheIdIsStableAndTakesNoTextForTwoFacts) {
  EXPECT_EQ(EpochId({}), EpochId({}));
  EXPECT_EQ(EpochId(EnvironmentOf(Gpu())).size(), 12u);
  EXPECT_EQ(EpochId({{"driver", "1"}}), "ed1620c6622a") << "stored ids would no longer match";
  EXPECT_NE(EpochId({{"a", "b"}, {"c", "d"}}), EpochId({{"a", "b1:c1:d"}}));
  EXPECT_NE(EpochId({{"a", ""}}), EpochId({}));
}

TEST(Environment, OfADeviceHasTheMachineOfItsResults) {
  v1::Device device;
  device.set_model("H200");
  device.set_uuid("GPU-1");
  device.set_driver("580.95.05");
  device.mutable_calibration()->set_engine_version("0.7");
  (*device.mutable_settings())["power_limit_watts"] = "700";
  (*device.mutable_settings())["ecc"] = "on";
  (*device.mutable_settings())["cpus"] = "0-15";
  v1::Result bare = Gpu();
  bare.mutable_environment()->clear_libraries();
  bare.clear_mechanism();
  EXPECT_EQ(EnvironmentOf(device), EnvironmentOf(bare));
}

TEST(Epochs, FollowOneAnotherWithWhatChanged) {
  std::vector<v1::Epoch> epochs;
  v1::Result result = Gpu();
  EXPECT_TRUE(AppendEpoch(EpochOf(result), &epochs));
  EXPECT_FALSE(AppendEpoch(EpochOf(result), &epochs));
  result.mutable_environment()->set_driver("590.1");
  result.mutable_create_time()->set_seconds(2000);
  EXPECT_TRUE(AppendEpoch(EpochOf(result), &epochs));
  EXPECT_TRUE(AppendEpoch(EpochOf(Gpu()), &epochs)) << "back again";
  ASSERT_EQ(epochs.size(), 3u);
  EXPECT_EQ(epochs[0].changed(), "");
  EXPECT_EQ(epochs[1].changed(), "driver 580.95.05 -> 590.1");
  EXPECT_EQ(epochs[1].since().seconds(), 2000);
  EXPECT_EQ(epochs[2].changed(), "driver 590.1 -> 580.95.05");
  EXPECT_EQ(epochs[2].id(), epochs[0].id());
}

TEST(Points, OfAResult) {
  v1::Result result = Gpu();
  result.set_outcome(v1::OUTCOME_OK);
  result.set_verdict(v1::VERDICT_VALID);
  result.mutable_device_time()->set_median(1e-3);
  result.mutable_device_time()->set_history_low(0.99e-3);
  result.mutable_device_time()->set_history_high(1.01e-3);
  const v1::HistoryPoint point = PointOf(result);
  EXPECT_TRUE(IsValid(point));
  EXPECT_EQ(point.low(), 0.99e-3);
  EXPECT_EQ(point.high(), 1.01e-3);
  EXPECT_EQ(point.epoch(), EpochOf(result).id());
  EXPECT_EQ(CellOf(result).mode(), "cold");
  EXPECT_EQ(JobOfResult(point.result()), "results/k3f9x2ab");
  EXPECT_EQ(JobOfResult("results/x"), "results/x");
  result.set_verdict(v1::VERDICT_SUSPECT);
  EXPECT_FALSE(IsValid(PointOf(result)));
  result.set_verdict(v1::VERDICT_VALID);
  result.set_outcome(v1::OUTCOME_CRASHED);
  EXPECT_FALSE(IsValid(PointOf(result)));
}

}  // namespace
}  // namespace kbench::history
