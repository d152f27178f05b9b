#include "server/history/cause.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace kbench::history {
namespace {

using ::testing::HasSubstr;

constexpr double kNoise[] = {1.000, 1.001, 0.999, 1.0005, 1.002, 0.998, 0.9995, 1.001};

v1::Result Measured(const std::string& name, double seconds, double clock = 1.98e9) {
  v1::Result result;
  result.set_name("results/" + name);
  result.set_job("jobs/" + name);
  result.mutable_case_()->set_kernel("matmul");
  result.mutable_case_()->set_dtype("fp16");
  result.mutable_case_()->set_shape("m=4096,n=4096,k=4096,layout=nn");
  result.mutable_case_()->set_mode("cold");
  result.set_implementation("cublas");
  result.set_device("gpu0");
  result.set_outcome(v1::OUTCOME_OK);
  result.set_verdict(v1::VERDICT_VALID);
  auto& environment = *result.mutable_environment();
  environment.set_device_name("H200");
  environment.set_device_uuid("GPU-1");
  environment.set_driver("580.1");
  environment.set_kbench_version("0.7");
  (*environment.mutable_libraries())["cublas"] = "13.0";
  (*environment.mutable_settings())["power_limit_watts"] = "700";
  (*result.mutable_configuration())["candidate"] = "128x128";
  result.set_code_digest("1c0d");
  result.mutable_telemetry()->set_sm_clock_hertz(clock);
  result.mutable_telemetry()->set_memory_clock_hertz(3.2e9);
  result.mutable_telemetry()->set_power_watts(500);
  result.mutable_telemetry()->set_temperature_celsius(50);
  result.mutable_device_time()->set_median(seconds);
  result.set_device_cycles(seconds * clock);
  int number = 0;
  for (const double noise : kNoise) {
    result.mutable_device_time()->add_round_medians(seconds * noise);
    result.mutable_device_time()->add_round_numbers(number++);
    result.mutable_device_time()->add_round_clocks(clock);
  }
  return result;
}

TEST(Why, NoChangeIsOne) {
  const v1::Cause cause = Why(Measured("a", 1e-3), Measured("b", 1.002e-3));
  EXPECT_EQ(cause.verdict(), "NO_CHANGE");
  EXPECT_EQ(cause.a(), "results/a");
  EXPECT_EQ(cause.b(), "results/b");
  EXPECT_EQ(cause.cell().kernel(), "matmul");
  EXPECT_NEAR(cause.time_ratio(), 0.002, 1e-9);
  EXPECT_EQ(cause.differences_size(), 0);
  EXPECT_THAT(cause.sentence(), HasSubstr("no change: +0.2 % time, +0.2 % cycles"));
}

TEST(Why, TheClockNotTheKernel) {
  const v1::Result a = Measured("a", 1e-3);
  v1::Result b = Measured("b", 1.061e-3, 1.98e9 / 1.061 * 1.002);
  (*b.mutable_telemetry()->mutable_throttle_seconds())["POWER_CAP"] = 1.5;
  b.mutable_telemetry()->add_throttle_reasons("POWER_CAP");
  b.mutable_telemetry()->set_power_watts(699);
  b.mutable_telemetry()->set_temperature_celsius(71);
  const v1::Cause cause = Why(a, b);
  EXPECT_EQ(cause.verdict(), "CLOCK");
  EXPECT_EQ(cause.sentence(),
            "clock, not the kernel: +6.1 % time, +0.2 % cycles; clock 1980 MHz -> 1870 MHz, "
            "throttled POWER_CAP 0.00 s -> 1.50 s");
  EXPECT_NEAR(cause.cycles_ratio(), 0.002, 1e-6);
  ASSERT_EQ(cause.differences_size(), 4);
  EXPECT_EQ(cause.differences(0).name(), "clock");
  EXPECT_EQ(cause.differences(0).kind(), "device");
  EXPECT_NEAR(cause.differences(0).ratio(), 1.002 / 1.061, 1e-6);
  EXPECT_EQ(cause.differences(1).name(), "throttled POWER_CAP");
  EXPECT_EQ(cause.differences(2).name(), "power");
  EXPECT_EQ(cause.differences(3).name(), "temperature");
  EXPECT_EQ(cause.differences(3).b(), "71 C");
}

TEST(Why, AClockPolicyThatWasChangedIsTheEnvironment) {
  v1::Result b = Measured("b", 1.2e-3, 1.65e9);
  (*b.mutable_environment()->mutable_settings())["power_limit_watts"] = "500";
  const v1::Cause cause = Why(Measured("a", 1e-3), b);
  EXPECT_EQ(cause.verdict(), "ENVIRONMENT");
  EXPECT_THAT(cause.sentence(), HasSubstr("power limit in watts 700 -> 500"));
  EXPECT_EQ(cause.differences(0).name(), "power limit in watts");
  EXPECT_EQ(cause.differences(1).name(), "clock");
}

TEST(Why, TheMemorysClock) {
  v1::Result b = Measured("b", 1.1e-3);
  b.mutable_telemetry()->set_memory_clock_hertz(2.9e9);
  const v1::Cause cause = Why(Measured("a", 1e-3), b);
  EXPECT_EQ(cause.verdict(), "CLOCK");
  EXPECT_THAT(cause.sentence(), HasSubstr("memory clock 3200 MHz -> 2900 MHz"));
  // One that rose slows nothing.
  b.mutable_telemetry()->set_memory_clock_hertz(3.6e9);
  EXPECT_EQ(Why(Measured("a", 1e-3), b).verdict(), "KERNEL");
}

TEST(Why, TheSameEverywhereIsTheKernel) {
  const v1::Cause cause = Why(Measured("a", 1e-3), Measured("b", 1.05e-3));
  EXPECT_EQ(cause.verdict(), "KERNEL");
  EXPECT_THAT(cause.sentence(), HasSubstr("the kernel, not the clock: +5.0 % time, +5.0 % cycles"));
}

TEST(Why, WithoutAClockItIsNotKnown) {
  v1::Result a = Measured("a", 1e-3);
  v1::Result b = Measured("b", 1.05e-3);
  for (v1::Result* one : {&a, &b}) {
    one->set_device_cycles(0);
    one->mutable_telemetry()->clear_sm_clock_hertz();
  }
  const v1::Cause cause = Why(a, b);
  EXPECT_EQ(cause.verdict(), "UNKNOWN");
  EXPECT_EQ(cause.cycles_ratio(), 0);
  EXPECT_THAT(cause.sentence(), HasSubstr("+5.0 % time; no clock was recorded"));
}

struct Row {
  const char* verdict;
  const char* named;  // in the sentence, and the first difference where it is one
  void (*change)(v1::Result&);
};
const Row kRows[] = {
    {"ENVIRONMENT", "driver 580.1 -> 590.2",
     [](v1::Result& r) { r.mutable_environment()->set_driver("590.2"); }},
    {"ENVIRONMENT", "cublas 13.0 -> 13.1",
     [](v1::Result& r) { (*r.mutable_environment()->mutable_libraries())["cublas"] = "13.1"; }},
    {"ENVIRONMENT", "engine none -> 0.8",
     [](v1::Result& r) { r.mutable_environment()->set_engine_version("0.8"); }},
    {"KERNEL", "candidate 128x128 -> 64x64",
     [](v1::Result& r) { (*r.mutable_configuration())["candidate"] = "64x64"; }},
    {"KERNEL", "registers none -> 255",
     [](v1::Result& r) { (*r.mutable_configuration())["registers"] = "255"; }},
    {"KERNEL", "binary 1c0d -> 9f3a", [](v1::Result& r) { r.set_code_digest("9f3a"); }},
    {"KERNEL", "kbench 0.7 -> 0.8",
     [](v1::Result& r) { r.mutable_environment()->set_kbench_version("0.8"); }},
    {"FOREIGN_WORK", "foreign work 0.0 % -> 30.0 %",
     [](v1::Result& r) { r.mutable_telemetry()->set_foreign_utilization(0.3); }},
    {"FOREIGN_WORK", "busy slices 0 -> 2",
     [](v1::Result& r) { r.mutable_telemetry()->set_busy_mig_siblings(2); }},
    {"FOREIGN_WORK", "cpu steal 0.0 % -> 4.0 %",
     [](v1::Result& r) { r.mutable_telemetry()->set_steal_ratio(0.04); }},
    {"FOREIGN_WORK", "load of others 0.0 -> 1.5",
     [](v1::Result& r) { r.mutable_telemetry()->set_load(1.5); }},
    {"DEVICE", "memory errors 0 -> 3",
     [](v1::Result& r) { r.mutable_telemetry()->set_ecc_errors(3); }},
    {"DEVICE", "results/b is marked CANARY_DRIFT",
     [](v1::Result& r) { r.add_verdict_reasons("CANARY_DRIFT"); }},
};

TEST(Why, EachThingThatChangedAlone) {
  for (const Row& row : kRows) {
    v1::Result b = Measured("b", 1.05e-3);
    row.change(b);
    const v1::Cause cause = Why(Measured("a", 1e-3), b);
    EXPECT_EQ(cause.verdict(), row.verdict) << row.named;
    EXPECT_THAT(cause.sentence(), HasSubstr(row.named));
    EXPECT_THAT(cause.sentence(), HasSubstr("+5.0 % time, +5.0 % cycles"));
    if (cause.differences_size() > 0) {
      EXPECT_EQ(std::string(row.named).rfind(cause.differences(0).name(), 0), 0u) << row.named;
    } else {
      EXPECT_THAT(row.named, HasSubstr("CANARY_DRIFT"));
    }
  }
}

TEST(Why, OthersWhoLeftMakeNothingSlower) {
  v1::Result a = Measured("a", 1e-3);
  a.mutable_telemetry()->set_foreign_utilization(0.3);
  a.mutable_telemetry()->set_ecc_errors(1);
  a.add_verdict_reasons("CANARY_DRIFT");
  EXPECT_EQ(Why(a, Measured("b", 1.05e-3)).verdict(), "KERNEL");
  EXPECT_EQ(Why(a, Measured("b", 0.9e-3)).verdict(), "FOREIGN_WORK") << "but something faster";
}

TEST(Why, AnUnknownUtilizationIsNoDifference) {
  v1::Result b = Measured("b", 1.05e-3);
  b.mutable_telemetry()->set_foreign_utilization(-1);
  EXPECT_EQ(Why(Measured("a", 1e-3), b).verdict(), "KERNEL");
}

TEST(Why, TheDevicesCanaryMovedToo) {
  const auto why = [](double before, double after) {
    v1::Result a = Measured("a", 1e-3);
    v1::Result b = Measured("b", 1.05e-3);
    a.set_canary_ratio(before);
    b.set_canary_ratio(after);
    return Why(a, b);
  };
  const v1::Cause cause = why(1.0, 1.04);
  EXPECT_EQ(cause.verdict(), "DEVICE");
  EXPECT_EQ(cause.differences(0).name(), "canary");
  EXPECT_EQ(why(1.0, 1.015).verdict(), "KERNEL") << "too little";
  EXPECT_EQ(why(1.04, 1.0).verdict(), "KERNEL") << "the other way";
  const v1::Cause half = why(0, 1.04);
  EXPECT_EQ(half.verdict(), "KERNEL") << "half known";
  ASSERT_EQ(half.differences_size(), 1);
  EXPECT_EQ(half.differences(0).a(), "too few yet");
  EXPECT_EQ(half.differences(0).b(), "1.040");
  EXPECT_EQ(half.differences(0).ratio(), 0);
  EXPECT_EQ(why(0, 1.001).differences_size(), 0);
}

TEST(Why, TwoCausesAtOnceAreNotDecided) {
  v1::Result b = Measured("b", 1.05e-3);
  b.mutable_environment()->set_driver("590.2");
  b.mutable_environment()->set_kbench_version("0.8");
  const v1::Cause cause = Why(Measured("a", 1e-3), b);
  EXPECT_EQ(cause.verdict(), "UNKNOWN");
  EXPECT_THAT(cause.sentence(), HasSubstr("driver 580.1 -> 590.2; and kbench 0.7 -> 0.8"));
}

TEST(Why, OtherQuestionsAreNotCompared) {
  v1::Result b = Measured("b", 1.05e-3);
  b.mutable_case_()->set_mode("steady");
  v1::Cause cause = Why(Measured("a", 1e-3), b);
  EXPECT_EQ(cause.verdict(), "UNKNOWN");
  EXPECT_THAT(cause.sentence(), HasSubstr("mode cold against steady"));
  EXPECT_EQ(cause.time_ratio(), 0);
  b = Measured("b", 1.05e-3);
  b.mutable_case_()->set_shape("m=1,n=1,k=1,layout=nn");
  EXPECT_THAT(Why(Measured("a", 1e-3), b).sentence(), HasSubstr("shape m=4096"));
  b = Measured("b", 1);
  b.set_outcome(v1::OUTCOME_CRASHED);
  cause = Why(Measured("a", 1e-3), b);
  EXPECT_EQ(cause.verdict(), "UNKNOWN");
  EXPECT_THAT(cause.sentence(), HasSubstr("CRASHED"));
  EXPECT_EQ(Why(v1::Result(), v1::Result()).verdict(), "UNKNOWN");
}

TEST(Why, TwoCellsAreNotOneThatChanged) {
  v1::Result b = Measured("b", 1.5e-3);
  b.set_implementation("triton");
  v1::Cause cause = Why(Measured("a", 1e-3), b);
  EXPECT_EQ(cause.verdict(), "UNKNOWN");
  EXPECT_THAT(cause.sentence(), HasSubstr("two cells, not one that changed: +50.0"));
  EXPECT_THAT(cause.sentence(), HasSubstr("implementation cublas -> triton"));
  EXPECT_EQ(cause.differences(0).kind(), "cell");
  b = Measured("b", 1.5e-3);
  b.set_device("gpu1");
  EXPECT_THAT(Why(Measured("a", 1e-3), b).sentence(), HasSubstr("device gpu0 -> gpu1"));
}

TEST(Why, WhatStandsInTwoPlacesIsOneDifference) {
  v1::Result a = Measured("a", 1e-3);
  v1::Result b = Measured("b", 1.5e-3);
  for (v1::Result* one : {&a, &b}) {
    const char* threads = one == &a ? "2" : "4";
    (*one->mutable_environment()->mutable_settings())["threads"] = threads;
    (*one->mutable_configuration())["threads"] = threads;
  }
  int told = 0;
  const v1::Cause cause = Why(a, b);
  for (const auto& one : cause.differences()) told += one.name() == "threads" ? 1 : 0;
  EXPECT_EQ(told, 1);
}

TEST(Why, DifferencesAreToldWhereNothingChanged) {
  v1::Result b = Measured("b", 1e-3);
  b.mutable_environment()->set_driver("590.2");
  b.mutable_telemetry()->set_temperature_celsius(90);
  const v1::Cause cause = Why(Measured("a", 1e-3), b);
  EXPECT_EQ(cause.verdict(), "NO_CHANGE");
  ASSERT_EQ(cause.differences_size(), 2);
  EXPECT_EQ(cause.differences(0).name(), "temperature") << "eight times its threshold";
  EXPECT_EQ(cause.differences(1).name(), "driver");
  EXPECT_EQ(cause.differences(1).kind(), "environment");
}

}  // namespace
}  // namespace kbench::history
