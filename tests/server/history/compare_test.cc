#include "server/history/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kbench::history {
namespace {

using kbench::v1::BaselineComparison;
using kbench::v1::Result;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr double kNoise[] = {1.000, 1.001, 0.999, 1.0005, 1.002, 0.998, 0.9995, 1.001};

Result Measured(const std::string& name, const std::string& job, double seconds) {
  Result result;
  result.set_name("results/" + name);
  result.set_job("jobs/" + job);
  result.mutable_case_()->set_kernel("sum");
  result.mutable_case_()->set_dtype("fp32");
  result.mutable_case_()->set_shape("n=4096");
  result.mutable_case_()->set_mode("cold");
  result.set_implementation(name);
  result.set_device("gpu0");
  result.set_attempt(1);
  result.set_outcome(kbench::v1::OUTCOME_OK);
  result.set_verdict(kbench::v1::VERDICT_VALID);
  result.set_mechanism("cuda-events");
  result.mutable_environment()->set_device_name("H200");
  result.mutable_environment()->set_driver("580.1");
  result.mutable_environment()->set_engine_version("0.1");
  result.mutable_device_time()->set_median(seconds);
  int number = 0;
  for (const double noise : kNoise) {
    result.mutable_device_time()->add_round_medians(seconds * noise);
    result.mutable_device_time()->add_round_numbers(number++);
    result.mutable_device_time()->add_round_clocks(1.5e9);
  }
  return result;
}

TEST(CompareResults, RoundsOfOneCasePair) {
  const auto comparison = CompareResults(Measured("a", "one", 1e-3), Measured("b", "one", 1.05e-3),
                                         {.between_session_ratio = 0.1});
  EXPECT_TRUE(comparison.paired());
  EXPECT_EQ(comparison.baseline(), "results/b");
  EXPECT_NEAR(comparison.speedup(), 1.05, 1e-12);
  EXPECT_NEAR(comparison.low(), 1.05, 1e-9) << "what both rounds share cancels";
  EXPECT_EQ(comparison.verdict(), "faster");
  EXPECT_EQ(comparison.p_value(), 2.0 / 256);
  EXPECT_NEAR(comparison.cycles_speedup(), 1.05, 1e-9);
  EXPECT_THAT(comparison.reasons(), IsEmpty());
  EXPECT_EQ(comparison.message(), "");
}

TEST(CompareResults, SessionsApartAreWidened) {
  const Result a = Measured("a", "one", 1.05e-3);
  const Result b = Measured("b", "two", 1e-3);
  const auto sharp = CompareResults(a, b, {.between_session_ratio = 0.003});
  EXPECT_FALSE(sharp.paired());
  EXPECT_EQ(sharp.verdict(), "slower");
  EXPECT_LT(sharp.low(), 0.948);
  const auto blunt = CompareResults(a, b, {.between_session_ratio = 0.03});
  EXPECT_EQ(blunt.verdict(), "inconclusive");
  EXPECT_NEAR(blunt.speedup(), sharp.speedup(), 1e-12);
}

TEST(CompareResults, AnotherAttemptOrCaseDoesNotPair) {
  Result a = Measured("a", "one", 1e-3);
  const Result b = Measured("b", "one", 1e-3);
  a.set_attempt(2);
  EXPECT_FALSE(CompareResults(a, b, {}).paired());
  a.set_attempt(1);
  a.set_case_index(1);
  EXPECT_FALSE(CompareResults(a, b, {}).paired());
}

TEST(CompareResults, OneCaseInGroupsComparesAsSessions) {
  Result a = Measured("a", "one", 1e-3);
  for (int& number : *a.mutable_device_time()->mutable_round_numbers()) number += 100;
  const auto comparison = CompareResults(a, Measured("b", "one", 1e-3), {});
  EXPECT_FALSE(comparison.paired());
  EXPECT_GT(comparison.low(), 0);
}

void Set(Result& result, const char* key, const char* value) {
  (*result.mutable_environment()->mutable_settings())[key] = value;
}

struct KeyRow {
  const char* difference;
  void (*change)(Result&);
};
const KeyRow kKeys[] = {
    {"kernel sum against copy", [](Result& r) { r.mutable_case_()->set_kernel("copy"); }},
    {"dtype fp32 against fp16", [](Result& r) { r.mutable_case_()->set_dtype("fp16"); }},
    {"shape n=4096 against n=1", [](Result& r) { r.mutable_case_()->set_shape("n=1"); }},
    {"mode cold against hot", [](Result& r) { r.mutable_case_()->set_mode("hot"); }},
    {"flush clean against dirty", [](Result& r) { r.mutable_policy()->set_flush("dirty"); }},
    {"mechanism cuda-events against steady-clock",
     [](Result& r) { r.set_mechanism("steady-clock"); }},
    {"device H200 against L4", [](Result& r) { r.mutable_environment()->set_device_name("L4"); }},
    {"driver 580.1 against none", [](Result& r) { r.mutable_environment()->clear_driver(); }},
    {"threads none against 4", [](Result& r) { Set(r, "threads", "4"); }},
    {"cpus none against 0-3", [](Result& r) { Set(r, "cpus", "0-3"); }},
    {"power limit in watts none against 500",
     [](Result& r) { Set(r, "power_limit_watts", "500"); }},
    {"ecc none against off", [](Result& r) { Set(r, "ecc", "off"); }},
};

TEST(CompareResults, EachKeyThatDiffersIsNamed) {
  for (const KeyRow& row : kKeys) {
    const Result a = Measured("a", "one", 1e-3);
    Result b = Measured("b", "two", 2e-3);
    row.change(b);
    const auto refused = CompareResults(a, b, {});
    EXPECT_THAT(refused.reasons(), ElementsAre("NOT_COMPARABLE"));
    EXPECT_EQ(refused.message(), row.difference);
    EXPECT_EQ(refused.speedup(), 0);
    EXPECT_EQ(refused.verdict(), "inconclusive");

    const auto forced = CompareResults(a, b, {.force = true});
    const std::string key(row.difference, 4);
    if (key == "mode" || key == "dtyp") {
      EXPECT_THAT(forced.reasons(), ElementsAre("NOT_COMPARABLE"));
      EXPECT_THAT(forced.message(), HasSubstr("are never compared, not by force"));
      EXPECT_EQ(forced.speedup(), 0);
      continue;
    }
    EXPECT_THAT(forced.reasons(), ElementsAre("KEYS_DIFFER"));
    EXPECT_EQ(forced.message(), row.difference);
    EXPECT_NEAR(forced.speedup(), 2, 0.01);
  }
}

TEST(CompareResults, TheHostsCpusAreNoKeyOfAGpu) {
  Result a = Measured("a", "one", 1e-3);
  a.mutable_environment()->set_device_uuid("GPU-1");
  Set(a, "cpus", "0-3");
  Set(a, "threads", "4");
  Result b = Measured("b", "two", 1e-3);
  b.mutable_environment()->set_device_uuid("GPU-1");
  Set(b, "cpus", "4-11");
  Set(b, "threads", "8");
  EXPECT_THAT(KeyDifferences(a, b), IsEmpty());
  Set(a, "power_limit_watts", "700");
  Set(b, "power_limit_watts", "500");
  EXPECT_THAT(KeyDifferences(a, b), ElementsAre("power limit in watts 700 against 500"));
}

TEST(CompareResults, WhatMayBeLeftOutIsItsDefault) {
  Result a = Measured("a", "one", 1e-3);
  a.mutable_policy()->set_flush("clean");
  Result b = Measured("b", "two", 1e-3);
  b.mutable_case_()->clear_mode();
  EXPECT_THAT(KeyDifferences(a, b), IsEmpty());
}

TEST(CompareResults, AnotherEngineIsAWarning) {
  Result b = Measured("b", "two", 2e-3);
  b.mutable_environment()->set_engine_version("0.2");
  const auto comparison = CompareResults(Measured("a", "one", 1e-3), b, {});
  EXPECT_EQ(comparison.verdict(), "faster");
  EXPECT_THAT(comparison.reasons(), ElementsAre("ENGINE_DIFFERS"));
  EXPECT_EQ(comparison.message(), "measured by engine 0.1 and 0.2");
}

TEST(CompareResults, WithoutATimeThereIsNoRatio) {
  Result b = Measured("b", "two", 2e-3);
  b.set_outcome(kbench::v1::OUTCOME_CRASHED);
  const auto comparison = CompareResults(Measured("a", "one", 1e-3), b, {.force = true});
  EXPECT_THAT(comparison.reasons(), ElementsAre("NO_NUMBER"));
  EXPECT_EQ(comparison.message(), "results/b has no time: its outcome is CRASHED");
  EXPECT_EQ(comparison.speedup(), 0);
}

TEST(CompareResults, InvalidNumbersAreRefusedAndSuspectOnesNamed) {
  const Result a = Measured("a", "one", 1e-3);
  Result b = Measured("b", "two", 2e-3);
  b.set_verdict(kbench::v1::VERDICT_INVALID);
  b.add_verdict_reasons("ECC_ERROR");
  EXPECT_THAT(CompareResults(a, b, {}).reasons(), ElementsAre("NOT_COMPARABLE"));
  EXPECT_EQ(CompareResults(a, b, {}).message(), "results/b is INVALID (ECC_ERROR)");
  b.set_verdict(kbench::v1::VERDICT_SUSPECT);
  EXPECT_THAT(CompareResults(a, b, {}).reasons(), ElementsAre("SUSPECT"));
  EXPECT_EQ(CompareResults(a, b, {}).verdict(), "faster");
}

TEST(CompareResults, ResultsWithoutRoundsHaveARatioAlone) {
  Result b = Measured("b", "two", 2e-3);
  b.mutable_device_time()->clear_round_medians();
  const auto comparison = CompareResults(Measured("a", "one", 1e-3), b, {});
  EXPECT_NEAR(comparison.speedup(), 2, 1e-12);
  EXPECT_EQ(comparison.low(), 0);
  EXPECT_EQ(comparison.verdict(), "inconclusive");
  EXPECT_THAT(comparison.reasons(), ElementsAre("FEW_ROUNDS"));
}

TEST(CompareResults, OtherClocksAreTold) {
  Result b = Measured("b", "two", 1.1e-3);
  for (double& clock : *b.mutable_device_time()->mutable_round_clocks()) clock /= 1.1;
  const auto comparison = CompareResults(Measured("a", "one", 1e-3), b, {});
  EXPECT_EQ(comparison.verdict(), "faster");
  EXPECT_NEAR(comparison.cycles_speedup(), 1, 0.001);
  EXPECT_THAT(comparison.reasons(), ElementsAre("CLOCK_CONFOUNDED"));
}

BaselineComparison Verdict(const std::string& verdict, double speedup, double half_width) {
  BaselineComparison comparison;
  comparison.set_verdict(verdict);
  comparison.set_speedup(speedup);
  comparison.set_low(speedup - half_width);
  comparison.set_high(speedup + half_width);
  return comparison;
}

void Bound(std::vector<BaselineComparison>& family) {
  std::vector<BaselineComparison*> members;
  for (BaselineComparison& comparison : family) members.push_back(&comparison);
  BoundFalseDiscoveries(members);
}

// Just beyond the margin: p = 0.03 by itself.
BaselineComparison Doubtful() { return Verdict("slower", 0.965, 0.025); }

TEST(BoundFalseDiscoveries, ALoneFindingAmongManyIsDoubted) {
  std::vector<BaselineComparison> family(20, Verdict("equivalent", 1.001, 0.004));
  family[3] = Doubtful();
  family[7] = Verdict("faster", 2, 0.01);
  Bound(family);
  EXPECT_EQ(family[3].verdict(), "inconclusive");
  EXPECT_THAT(family[3].reasons(), ElementsAre("MANY_COMPARISONS"));
  EXPECT_THAT(family[3].message(), HasSubstr("slower by itself, but among 20 comparisons"));
  EXPECT_EQ(family[7].verdict(), "faster");
  EXPECT_EQ(family[0].verdict(), "equivalent");
}

// A permutation of 8 rounds has no p below 0.0078, and 0.0078 x 100 is beyond any bound.
TEST(BoundFalseDiscoveries, AClearDifferenceIsFoundAmongAHundred) {
  std::vector<BaselineComparison> family(100, Verdict("equivalent", 1.001, 0.004));
  family[50] = Verdict("slower", 0.98, 0.001);
  family[50].set_p_value(0.0078);
  Bound(family);
  EXPECT_EQ(family[50].verdict(), "slower");
}

TEST(BoundFalseDiscoveries, ManyFindingsHoldUp) {
  std::vector<BaselineComparison> family(20, Doubtful());
  Bound(family);
  EXPECT_EQ(family[19].verdict(), "slower");
  std::vector<BaselineComparison> alone = {Doubtful()};
  Bound(alone);
  EXPECT_EQ(alone[0].verdict(), "slower");
}

// An interval that is long on the harmless side doubts nothing.
TEST(BoundFalseDiscoveries, OnlyTheSideThatFacesOneCounts) {
  std::vector<BaselineComparison> family(2, Verdict("faster", 1.2, 0.02));
  family[0].set_high(9);
  Bound(family);
  EXPECT_EQ(family[0].verdict(), "faster");
}

TEST(BoundFalseDiscoveries, OneAloneIsNoFamily) {
  std::vector<BaselineComparison> alone = {Verdict("slower", 0.885, 0.0945)};
  Bound(alone);
  EXPECT_EQ(alone[0].verdict(), "slower");
}

TEST(BoundFalseDiscoveries, ThoseWithoutAnIntervalAreNotOfTheFamily) {
  std::vector<BaselineComparison> family(100);
  family[5] = Doubtful();
  Bound(family);
  EXPECT_EQ(family[5].verdict(), "slower");
}

TEST(BoundFalseDiscoveries, AJobsTableIsOneFamily) {
  kbench::v1::Job job;
  for (int i = 0; i < 20; ++i) {
    auto* results = job.add_cases()->mutable_results();
    results->Add()->set_is_baseline(true);
    *results->Add()->mutable_comparison() =
        i == 3 ? Doubtful() : Verdict("equivalent", 1.001, 0.004);
  }
  BoundFalseDiscoveries(&job);
  EXPECT_EQ(job.cases(3).results(1).comparison().verdict(), "inconclusive");
  EXPECT_EQ(job.cases(4).results(1).comparison().verdict(), "equivalent");
  EXPECT_FALSE(job.cases(3).results(0).has_comparison());
}

}  // namespace
}  // namespace kbench::history
