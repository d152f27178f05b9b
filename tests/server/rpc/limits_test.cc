// What one owner may ask for, with a fake time; contests of identity, versions and the memory of
// poison likewise.
#include "server/rpc/limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/support/error.h"
#include "server/rpc/contests.h"
#include "server/rpc/poison.h"
#include "server/rpc/versions.h"

namespace kbench::server {
namespace {

TEST(TokenBucket, GivesItsSizeAtOnceAndItsRateOverTime) {
  TokenBucket bucket(2, 3);
  double now = 1e9;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(bucket.Take(now), 0);
  EXPECT_DOUBLE_EQ(bucket.Take(now), 0.5);
  EXPECT_FALSE(bucket.full(now));
  now += 0.5;
  EXPECT_EQ(bucket.Take(now), 0);
  EXPECT_GT(bucket.Take(now), 0);
  int taken = 0;
  for (int i = 0; i < 1000; ++i) {  // ten a second for 100 s, two of which go through
    now += 0.1;
    taken += bucket.Take(now) == 0 ? 1 : 0;
  }
  EXPECT_NEAR(taken, 200, 1);
  EXPECT_TRUE(bucket.full(now + 2));
}

TEST(TokenBucket, AClockThatGoesBackFillsNothingAndStopsNobodyForLong) {
  TokenBucket bucket(1, 1);
  EXPECT_EQ(bucket.Take(1e9), 0);
  EXPECT_GT(bucket.Take(1e9 - 86400), 0);
  EXPECT_EQ(bucket.Take(1e9 - 86400 + 1), 0) << "it counts on from there";
}

TEST(TokenBucket, WithoutARateEverybodyPasses) {
  TokenBucket bucket(0, 1);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(bucket.Take(5), 0);
}

class LimitsTest : public ::testing::Test {
 protected:
  static LimitOptions Small() {
    LimitOptions options;
    options.most_queued_cases = 20;
    options.most_jobs_of_owner = 2;
    options.most_cases_of_owner = 10;
    options.submits_per_second = 1;
    options.submit_burst = 4;
    options.most_job_seconds = 600;
    return options;
  }
  absl::Status Reserve(const std::string& owner, int cases, int queued = 0, double seconds = 60) {
    return limits_.Reserve(now_, owner, cases, seconds, queued);
  }
  void Begin(const std::string& owner, int cases) {
    ASSERT_TRUE(Reserve(owner, cases).ok());
    limits_.Release(owner, cases);
    limits_.JobBegan(owner, cases);
  }
  static std::string ReasonOf(const absl::Status& status) { return DetailsOf(status).reason; }

  double now_ = 1e9;
  Limits limits_{Small()};
};

TEST_F(LimitsTest, EachLimitIsNamedWithItsFiguresAndATimeToComeBack) {
  Begin("ada", 4);
  const absl::Status cases = Reserve("ada", 7);
  EXPECT_EQ(cases.code(), absl::StatusCode::kResourceExhausted);
  ErrorDetails details = DetailsOf(cases);
  EXPECT_EQ(details.reason, "OWNER_CASES");
  EXPECT_EQ(details.metadata["limit"], "OWNER_CASES");
  EXPECT_EQ(details.metadata["owner"], "ada");
  EXPECT_EQ(details.metadata["most"], "10");
  EXPECT_EQ(details.metadata["now"], "4");
  EXPECT_GT(details.retry_after_seconds, 0);
  Begin("ada", 1);
  EXPECT_EQ(ReasonOf(Reserve("ada", 1)), "OWNER_JOBS");
  EXPECT_TRUE(Reserve("bob", 1).ok()) << "another owner has his own";
  EXPECT_EQ(ReasonOf(Reserve("eve", 8, 12)), "QUEUE_FULL") << "one is reserved by bob";
  limits_.JobEnded("ada");
  limits_.CaseEnded("ada");
  EXPECT_TRUE(Reserve("ada", 6).ok());
}

TEST_F(LimitsTest, WhatNeverFitsHasNoTimeToComeBack) {
  const absl::Status long_job = Reserve("ada", 10, 0, 601);
  EXPECT_EQ(long_job.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(ReasonOf(long_job), "JOB_TOO_LONG");
  EXPECT_EQ(DetailsOf(long_job).retry_after_seconds, 0);
  EXPECT_EQ(DetailsOf(Reserve("ada", 11)).retry_after_seconds, 0);
}

TEST_F(LimitsTest, WhoComesTooOftenIsToldWhenToComeAgain) {
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(Reserve("ada", 1).ok());
    limits_.Release("ada", 1);
  }
  const absl::Status often = Reserve("ada", 1);
  EXPECT_EQ(ReasonOf(often), "SUBMIT_RATE");
  EXPECT_DOUBLE_EQ(DetailsOf(often).retry_after_seconds, 1);
  EXPECT_TRUE(Reserve("bob", 1).ok());
  now_ += 1;
  EXPECT_TRUE(Reserve("ada", 1).ok());
}

TEST_F(LimitsTest, AReservationCountsUntilTheJobIsThere) {
  ASSERT_TRUE(Reserve("ada", 6).ok());
  EXPECT_EQ(ReasonOf(Reserve("ada", 5)), "OWNER_CASES");
  limits_.Release("ada", 6);  // it was not stored
  EXPECT_TRUE(Reserve("ada", 5).ok());
}

TEST_F(LimitsTest, ARestartCountsAnew) {
  Begin("ada", 10);
  limits_.Reset();
  EXPECT_TRUE(Reserve("ada", 10).ok());
}

TEST(Budget, IsThatOfEveryCase) {
  v1::JobSpec spec;
  for (int i = 0; i < 3; ++i) spec.add_cases();
  EXPECT_EQ(BudgetSeconds(spec), 180);
  spec.mutable_policy()->mutable_case_budget()->set_seconds(10);
  EXPECT_EQ(BudgetSeconds(spec), 30);
}

TEST(Contests, TheThirdDisplacementWithinAMinuteEndsBoth) {
  Contests contests;
  EXPECT_FALSE(contests.Displaced(100, "w"));
  EXPECT_FALSE(contests.Displaced(110, "w"));
  EXPECT_FALSE(contests.Displaced(111, "other"));
  EXPECT_EQ(contests.RefusedFor(112, "w"), 0);
  EXPECT_TRUE(contests.Displaced(120, "w"));
  EXPECT_EQ(contests.RefusedFor(130, "w"), 50);
  EXPECT_EQ(contests.RefusedFor(130, "other"), 0);
  EXPECT_EQ(contests.RefusedFor(181, "w"), 0);
  EXPECT_FALSE(contests.Displaced(182, "w")) << "a new start";
}

TEST(Contests, RareDisplacementsAreNone) {
  Contests contests;
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(contests.Displaced(100 + 40 * i, "w"));
}

TEST(Versions, OneMinorVersionApartIsTheMost) {
  const struct {
    const char* worker;
    const char* reason;  // empty: works
  } cases[] = {{"1.4.2", ""},
               {"1.4", ""},
               {"1.3.9", ""},
               {"1.5.0", ""},
               {"1.2.9", "WORKER_TOO_OLD"},
               {"1.6.0", "WORKER_TOO_NEW"},
               {"2.4.0", "WORKER_TOO_NEW"},
               {"0.4.0", "WORKER_TOO_OLD"},
               {"1", "WORKER_TOO_OLD"},
               {"", ""},
               {"unknown", ""},
               {"1.3.0-rc1", ""},
               {"-1.4", ""}};
  for (const auto& item : cases) {
    const absl::Status status = CheckWorkerVersion(item.worker, "1.4.0");
    EXPECT_EQ(DetailsOf(status).reason, item.reason) << item.worker;
    if (status.ok()) continue;
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(MessageOf(status),
                ::testing::AllOf(::testing::HasSubstr(item.worker), ::testing::HasSubstr("1.4.0")));
  }
}

TEST(Poison, TheSameCaseIsRefusedForAnHourUnlessFresh) {
  v1::JobSpec spec;
  for (const char* shape : {"n=1", "n=2"}) {
    v1::CaseSpec* item = spec.add_cases();
    item->set_kernel("sum");
    item->set_shape(shape);
  }
  PoisonMemory memory;
  EXPECT_TRUE(memory.Check(spec, 1000).ok());
  memory.Remember({"jobs/a", 1}, spec, 1000);
  const absl::Status refused = memory.Check(spec, 1120);
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(DetailsOf(refused).reason, "POISON");
  EXPECT_EQ(DetailsOf(refused).metadata["job"], "jobs/a");
  EXPECT_EQ(DetailsOf(refused).violations.at(0).field, "spec.cases[1]");
  EXPECT_THAT(MessageOf(refused), ::testing::HasSubstr("2 min ago"));
  EXPECT_THAT(MessageOf(refused), ::testing::HasSubstr("case 2 of 2, sum"));
  v1::JobSpec elsewhere = spec;
  elsewhere.set_device("gpu1");
  EXPECT_FALSE(memory.Check(elsewhere, 1120).ok()) << "what it asks for kills wherever it runs";
  v1::JobSpec other = spec;
  other.mutable_cases()->RemoveLast();
  EXPECT_TRUE(memory.Check(other, 1120).ok()) << "only the case that killed";
  other = spec;
  other.add_implementations("cpu/naive");
  EXPECT_TRUE(memory.Check(other, 1120).ok());
  spec.mutable_max_result_age();
  EXPECT_TRUE(memory.Check(spec, 1120).ok()) << "asked for in full knowledge";
  spec.clear_max_result_age();
  EXPECT_TRUE(memory.Check(spec, 1000 + 3601).ok());
}

}  // namespace
}  // namespace kbench::server
