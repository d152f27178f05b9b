// Which rounds count: heat, disturbed cores, clocks, others on the device, and where the time goes.
#include "tests/worker/daemon/case_driver_fixture.h"

namespace kbench {
namespace {

using testing::Contains;
using testing::ElementsAreArray;
using testing::HasSubstr;

TEST_F(CaseDriverTest, HotRoundsAreThrownAway) {
  monitor_.hot_rounds_ = 2;
  SetBudget(4);
  Implementations({"fake/fast"});
  auto results = Run();
  EXPECT_EQ(results["fake/fast"].device_time().discarded_rounds(), 2);
  EXPECT_EQ(results["fake/fast"].verdict(), v1::VERDICT_SUSPECT);
  EXPECT_THAT(results["fake/fast"].verdict_reasons(), Contains("THROTTLED_SW_THERMAL"));
}

TEST_F(CaseDriverTest, AThrownAwayVisitIsRepeatedInItsRound) {
  monitor_.hot_rounds_ = 1;
  Implementations({"fake/half", "fake/fast"}, "fake/half");
  auto results = Run();
  const auto& numbers = results["fake/fast"].device_time().round_numbers();
  EXPECT_THAT(results["fake/half"].device_time().round_numbers(), ElementsAreArray(numbers));
  EXPECT_GT(results["fake/fast"].comparison().low(), 0) << "paired in all rounds";
}

TEST_F(CaseDriverTest, ADeviceThatThrottlesThroughoutGivesASuspectNumberInTime) {
  monitor_.hot_rounds_ = 1000;
  SetBudget(3);
  Implementations({"fake/fast"});
  const double begin = SystemClock().SteadySeconds();
  auto results = Run();
  EXPECT_LT(SystemClock().SteadySeconds() - begin, 3);
  const v1::Result& fast = results["fake/fast"];
  EXPECT_EQ(fast.outcome(), v1::OUTCOME_OK);
  EXPECT_EQ(fast.verdict(), v1::VERDICT_SUSPECT);
  EXPECT_THAT(fast.verdict_reasons(), Contains("THROTTLED_SW_THERMAL"));
  EXPECT_EQ(fast.device_time().discarded_rounds(), 5) << "then it is measured as it is";
  EXPECT_GT(fast.device_cycles(), 0);
}

TEST_F(CaseDriverTest, RoundsThatTheHostDisturbedAreRepeatedThenKept) {
  Implementations({"fake/stolen-at-first"});
  auto results = Run();
  EXPECT_EQ(results["fake/stolen-at-first"].device_time().discarded_rounds(), 3);
  EXPECT_EQ(results["fake/stolen-at-first"].device_time().rounds(), 8);
  EXPECT_EQ(results["fake/stolen-at-first"].verdict(), v1::VERDICT_VALID);
  Implementations({"fake/stolen"});
  results = Run();
  EXPECT_EQ(results["fake/stolen"].device_time().discarded_rounds(), 4) << "half of a look of 8";
  EXPECT_EQ(results["fake/stolen"].verdict(), v1::VERDICT_SUSPECT);
}

TEST_F(CaseDriverTest, AnUnexplainedClockIsMeasuredTwice) {
  Implementations({"fake/fast"});
  monitor_.slow_from_ = 5;
  monitor_.slow_to_ = 6;
  auto results = Run();
  EXPECT_EQ(results["fake/fast"].device_time().discarded_rounds(), 1);
  EXPECT_THAT(outcome_.result.artifacts(0).content(), testing::Not(HasSubstr("CLOCK_CHANGED")));
  monitor_.visits_ = 0;
  monitor_.slow_to_ = 7;
  results = Run();
  EXPECT_EQ(results["fake/fast"].device_time().discarded_rounds(), 1) << "it repeats: kept";
  EXPECT_THAT(outcome_.result.artifacts(0).content(), HasSubstr("CLOCK_CHANGED"));
}

TEST_F(CaseDriverTest, ABusyDeviceIsWaitedForAndTheWaitIsNoneOfTheBudget) {
  Implementations({"fake/fast"});
  monitor_.busy_looks_ = 4;
  busy_wait_seconds_ = 60;
  auto results = Run();
  EXPECT_EQ(results["fake/fast"].verdict(), v1::VERDICT_VALID) << results["fake/fast"].message();
  ASSERT_FALSE(progress_.empty());
  EXPECT_EQ(progress_[0].phase(), "wait");
  EXPECT_EQ(progress_[0].message(),
            "waiting for the device: process 321 (python, user ann) uses 37 % of the device");
  EXPECT_GT(outcome_.result.phase_seconds().at("wait"), 0.05);
  EXPECT_EQ(outcome_.result.infra_error(), "");
}

TEST_F(CaseDriverTest, ADeviceThatStaysBusyIsTriedAgainOrFailsAtOnce) {
  Implementations({"fake/fast", "fake/half"});
  monitor_.busy_looks_ = 1 << 20;
  auto results = Run();
  EXPECT_THAT(outcome_.result.infra_error(), HasSubstr("FOREIGN_BUSY: after"));
  EXPECT_EQ(results["fake/half"].outcome(), v1::OUTCOME_INFRA);
  EXPECT_EQ(results["fake/half"].reason(), "FOREIGN_BUSY");
  EXPECT_THAT(results["fake/half"].message(), HasSubstr("process 321 (python, user ann)"));
  assign_.mutable_policy()->set_if_busy("fail");
  busy_wait_seconds_ = 60;
  results = Run();
  EXPECT_LT(run_seconds_, 10) << "at once";
  EXPECT_EQ(outcome_.result.infra_error(), "") << "an answer, not to be tried again";
  EXPECT_EQ(results["fake/fast"].reason(), "FOREIGN_BUSY");
  assign_.mutable_policy()->set_if_busy("run");
  EXPECT_EQ(Run()["fake/fast"].outcome(), v1::OUTCOME_OK);
}

TEST_F(CaseDriverTest, AnIdleStrangerIsHarmlessAnUnknownOneIsNot) {
  Implementations({"fake/fast"});
  monitor_.busy_looks_ = 1 << 20;
  monitor_.foreign_share_ = 0.005;
  EXPECT_EQ(Run()["fake/fast"].outcome(), v1::OUTCOME_OK);
  monitor_.foreign_share_ = -1;
  EXPECT_THAT(Run()["fake/fast"].message(), HasSubstr("does not tell whether it computes"));
}

TEST_F(CaseDriverTest, TimesByPhaseAddUp) {
  Implementations({"fake/fast", "fake/half", "fake/slow"});
  SetBudget(12);
  auto results = Run();
  double sum = 0;
  for (const auto& [phase, seconds] : outcome_.result.phase_seconds()) {
    EXPECT_GE(seconds, 0) << phase;
    if (phase != "burst") sum += seconds;
  }
  EXPECT_NEAR(sum, run_seconds_, 1e-6);
  const auto& phases = outcome_.result.phase_seconds();
  for (const char* phase : {"prepare", "verify", "warm", "measure", "check", "finish"}) {
    EXPECT_EQ(phases.count(phase), 1u) << phase;
  }
  // The slow one takes 0.35 s a check and a sample.
  EXPECT_GT(phases.at("verify"), 0.35);
  EXPECT_GT(phases.at("measure"), 8 * 0.35);
  EXPECT_GT(phases.at("burst"), 0);
  EXPECT_NEAR(results["fake/half"].duty_ratio(), 0.4, 1e-9);
  EXPECT_EQ(results["fake/half"].launches_per_sample(), 1);
  EXPECT_EQ(results["fake/half"].operand_sets(), 1);
}

TEST_F(CaseDriverTest, ShortRoundsGrowToWhatTheCaseHasCostAlready) {
  // Checks of 0.35 s and rounds of 10 ms: measuring alone would be a tenth of the case.
  Implementations({"fake/slow-check"});
  auto results = Run();
  const auto& phases = outcome_.result.phase_seconds();
  const double overhead = phases.at("verify") + phases.at("check");
  EXPECT_GT(overhead, 0.6);
  EXPECT_GE(phases.at("burst"), 0.9 * overhead);
  EXPECT_LE(phases.at("burst"), 1.7) << "and no more than a second and a half";
  EXPECT_EQ(results["fake/slow-check"].device_time().rounds(), 8);
  EXPECT_THAT(outcome_.result.artifacts(0).content(), HasSubstr("\"visits\":["));
  // Somebody who wants it quick gets it quick.
  assign_.mutable_policy()->set_target_ratio(0.02);
  results = Run();
  EXPECT_EQ(results["fake/slow-check"].device_time().samples(), 80);
}

TEST_F(CaseDriverTest, ARoundPassesOverItsCellsAndStaysOneRound) {
  Implementations({"fake/slow-check", "fake/fast"}, "fake/fast");
  auto results = Run();
  const v1::TimeDistribution& time = results["fake/fast"].device_time();
  EXPECT_EQ(time.rounds(), 8);
  EXPECT_GE(time.samples(), 8 * 3 * 10) << "at least three passes";
  EXPECT_EQ(time.samples() % 2, 0);
  EXPECT_THAT(results["fake/slow-check"].device_time().round_numbers(),
              ElementsAreArray(time.round_numbers()));
  const std::string& text = outcome_.result.artifacts(0).content();
  const std::size_t visits = text.find("\"visits\":[");
  ASSERT_NE(visits, std::string::npos);
  EXPECT_LT(text.find(',', visits), text.find(']', visits)) << "several visits in the first round";
}

TEST_F(CaseDriverTest, TimeThatEndsInTheMiddleOfARoundKeepsWhatWasPooled) {
  // Visits take five times as long as they seem to: the first round is planned with many passes.
  MakePool({"--burst-seconds", "0.05"});
  SetBudget(2.2);
  Implementations({"fake/slow-check", "fake/fast"}, "fake/fast");
  auto results = Run();
  EXPECT_LT(run_seconds_, 2.2);
  const v1::TimeDistribution& time = results["fake/fast"].device_time();
  EXPECT_EQ(results["fake/fast"].outcome(), v1::OUTCOME_OK) << results["fake/fast"].message();
  EXPECT_GE(time.samples(), 20);
  EXPECT_GE(results["fake/slow-check"].device_time().samples(), 20);
  EXPECT_TRUE(results["fake/slow-check"].has_comparison());
}

TEST_F(CaseDriverTest, AtThePowerLimitNobodyLeavesBeforeAllAreDone) {
  Implementations({"fake/fast", "fake/noisy"});
  EXPECT_EQ(Run()["fake/fast"].device_time().rounds(), 8);
  monitor_.power_cap_ = true;
  auto results = Run();
  EXPECT_EQ(results["fake/fast"].device_time().rounds(), 40);
  EXPECT_EQ(results["fake/fast"].verdict(), v1::VERDICT_VALID) << results["fake/fast"].message();
}

TEST_F(CaseDriverTest, AClockAtThePowerLimitIsExplained) {
  Implementations({"fake/fast"});
  monitor_.power_cap_ = true;
  monitor_.slow_from_ = 5;
  monitor_.slow_to_ = 7;
  EXPECT_EQ(Run()["fake/fast"].device_time().discarded_rounds(), 0);
  EXPECT_THAT(outcome_.result.artifacts(0).content(), testing::Not(HasSubstr("CLOCK_CHANGED")));
}

TEST_F(CaseDriverTest, ASteadyVisitDoesNotCountWhatItBeginsWith) {
  assign_.mutable_case_()->set_mode("steady");
  Implementations({"fake/settles"});
  auto results = Run();
  const v1::TimeDistribution& time = results["fake/settles"].device_time();
  EXPECT_EQ(time.rounds(), 8);
  EXPECT_EQ(time.samples(), 8 * 300) << "0.3 s a visit";
  EXPECT_LT(time.max(), 1.1e-3);
  EXPECT_EQ(time.discarded_samples(), 0) << "nothing disturbed it";
  // In a hurry a visit is 10 ms.
  assign_.mutable_policy()->set_target_ratio(0.02);
  results = Run();
  EXPECT_EQ(results["fake/settles"].device_time().samples(), 80);
}

}  // namespace
}  // namespace kbench
