#include "client/fail_on.h"

#include "client/errors.h"
#include "client/exit_code.h"
#include "gmock/gmock.h"
#include "tests/client/samples.h"

namespace kbench::client {
namespace {

using testing::EndedCase;
using ::testing::HasSubstr;
using testing::OkRow;
using testing::Parse;

TEST(ParseFailOn, WordAndRatio) {
  const auto slower = ParseFailOn("slower:3%");
  ASSERT_TRUE(slower.ok());
  EXPECT_TRUE(slower->slower);
  EXPECT_DOUBLE_EQ(slower->margin, 0.03);
  const auto faster = ParseFailOn("faster:0.5");
  ASSERT_TRUE(faster.ok());
  EXPECT_FALSE(faster->slower);
  EXPECT_DOUBLE_EQ(faster->margin, 0.5);
  EXPECT_DOUBLE_EQ(ParseFailOn("slower:100%")->margin, 1);
}

TEST(ParseFailOn, WhatIsWrongIsOneLineWithTheGrammar) {
  for (const char* text : {"", "slower", "slower:", "slow:3%", "slower:-1%", "slower:nan",
                           "slower:3%%", "3%", "slower=3%", "slower:1e9", "slower:3", "slower:1",
                           "slower:0%", "slower:0", "slower:101%"}) {
    const auto parsed = ParseFailOn(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(ExitCodeOf(parsed.status()), 2);
    ASSERT_EQ(ErrorLines(parsed.status()).size(), 1u);
    EXPECT_EQ(ErrorLines(parsed.status())[0],
              "fail-on: '" + std::string(text) +
                  "' is not WORD:RATIO; WORD is slower or faster, RATIO is above 0% and at most "
                  "100%, as in slower:3% or slower:0.03");
  }
}

struct Row {
  const char* what;
  double low, high;  // of the speed against the baseline
  int slower, faster;
};
// At a margin of 3 %: slower is a speed below 1 / 1.03 = 0.9709, faster one above 1.03.
const Row kRows[] = {
    {"wholly slower", 0.90, 0.96, 3, 0},   {"at the margin", 0.90, 0.9708, 3, 0},
    {"reaches over it", 0.90, 0.98, 8, 0}, {"a little slower", 0.975, 0.985, 0, 0},
    {"the same", 0.999, 1.001, 0, 0},      {"anything", 0.9, 1.1, 8, 8},
    {"a little faster", 1.01, 1.02, 0, 0}, {"reaches over it", 1.01, 1.05, 0, 8},
    {"wholly faster", 1.04, 1.05, 0, 3},   {"no interval", 0, 0, 8, 8},
};

// What may be chance among so many is no finding; that there is none stays one.
TEST(FailOnCode, AFindingAmongManyIsUndecidedAndNoFindingIsNot) {
  kbench::v1::BaselineComparison comparison;
  comparison.add_reasons("MANY_COMPARISONS");
  comparison.set_speedup(0.9);
  comparison.set_low(0.88);
  comparison.set_high(0.92);
  EXPECT_EQ(FailOnCode({true, 0.03}, comparison), 8);
  EXPECT_EQ(FailOnCode({false, 0.03}, comparison), 0);
  comparison.set_speedup(1.05);
  comparison.set_low(1.02);
  comparison.set_high(1.2);
  EXPECT_EQ(FailOnCode({true, 0.03}, comparison), 0) << "faster by itself is not slower";
}

TEST(FailOnCode, OnlyAWholeIntervalFails) {
  for (const Row& row : kRows) {
    kbench::v1::BaselineComparison comparison;
    comparison.set_speedup((row.low + row.high) / 2);
    comparison.set_low(row.low);
    comparison.set_high(row.high);
    EXPECT_EQ(FailOnCode({true, 0.03}, comparison), row.slower) << row.what;
    EXPECT_EQ(FailOnCode({false, 0.03}, comparison), row.faster) << row.what;
    for (const char* reason : {"NOT_COMPARABLE", "NO_NUMBER", "SUSPECT", "KEYS_DIFFER"}) {
      auto doubtful = comparison;
      doubtful.add_reasons(reason);
      EXPECT_EQ(FailOnCode({true, 0.03}, doubtful), 8) << reason;
    }
  }
}

kbench::v1::Job JobWith(const std::string& rows) {
  return Parse<kbench::v1::Job>("state: JOB_STATE_SUCCEEDED cases {" + EndedCase(rows) + "}");
}

std::string Against(double low, double high) {
  return "comparison { baseline: \"cublas\" speedup: " + std::to_string((low + high) / 2) +
         " low: " + std::to_string(low) + " high: " + std::to_string(high) + " }";
}

const std::string kBaseline = "results { is_baseline: true " + OkRow("cublas") + "}";

TEST(JudgeJob, TheWorstRowCounts) {
  const std::string even = "results {" + OkRow("even", Against(0.99, 1.01)) + "}";
  const std::string unsure = "results {" + OkRow("unsure", Against(0.9, 1.1)) + "}";
  const std::string slow = "results {" + OkRow("slow", Against(0.50, 0.52)) + "}";
  const FailOn fail_on{true, 0.03};
  EXPECT_EQ(JudgeJob(fail_on, JobWith(kBaseline + even)).code, 0);
  EXPECT_EQ(JudgeJob(fail_on, JobWith(kBaseline + even)).sentence, "");
  const auto inconclusive = JudgeJob(fail_on, JobWith(kBaseline + even + unsure));
  EXPECT_EQ(inconclusive.code, 8);
  EXPECT_THAT(inconclusive.sentence,
              HasSubstr("unsure may be slower than cublas by more than 3.00%"));
  const auto regression = JudgeJob(fail_on, JobWith(kBaseline + unsure + slow + even));
  EXPECT_EQ(regression.code, 3);
  EXPECT_EQ(regression.sentence,
            "slow is slower than cublas by more than 3.00%: its speed is 0.510x [0.500, 0.520]");
}

TEST(JudgeJob, NumbersThatMayNotBeTrustedDecideNothing) {
  const std::string slow = "results {" + OkRow("slow", Against(0.50, 0.52)) + "}";
  kbench::v1::Job job = JobWith(kBaseline + slow);
  job.mutable_cases(0)->mutable_results(1)->set_verdict(kbench::v1::VERDICT_SUSPECT);
  EXPECT_EQ(JudgeJob({true, 0.03}, job).code, 8);
  job = JobWith(kBaseline + slow);
  job.mutable_cases(0)->mutable_results(0)->set_verdict(kbench::v1::VERDICT_SUSPECT);
  EXPECT_EQ(JudgeJob({true, 0.03}, job).code, 8);
  EXPECT_THAT(JudgeJob({true, 0.03}, job).sentence, HasSubstr("but not both numbers are VALID"));
}

TEST(JudgeJob, ARowWithoutAComparisonIsInconclusiveAndNamed) {
  const std::string even = "results {" + OkRow("even", Against(0.99, 1.01)) + "}";
  const std::string lone = "results {" + OkRow("lone") + "}";
  const auto verdict = JudgeJob({true, 0.03}, JobWith(kBaseline + even + lone));
  EXPECT_EQ(verdict.code, 8);
  EXPECT_THAT(verdict.sentence, HasSubstr("lone has a time but was compared with no baseline"));
  const std::string slow = "results {" + OkRow("slow", Against(0.50, 0.52)) + "}";
  EXPECT_EQ(JudgeJob({true, 0.03}, JobWith(kBaseline + lone + slow)).code, 3);
}

TEST(JudgeJob, NothingComparedIsInconclusive) {
  const auto verdict = JudgeJob({true, 0.03}, JobWith(kBaseline));
  EXPECT_EQ(verdict.code, 8);
  EXPECT_THAT(verdict.sentence, HasSubstr("nothing was compared"));
}

TEST(WorseExitCode, Order) {
  const int order[] = {0, 8, 4, 3, 6, 1, 7, 5};
  for (std::size_t i = 1; i < std::size(order); ++i) {
    EXPECT_EQ(WorseExitCode(order[i - 1], order[i]), order[i]);
    EXPECT_EQ(WorseExitCode(order[i], order[i - 1]), order[i]);
  }
}

}  // namespace
}  // namespace kbench::client
