#include "server/history/cell_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/history/baseline.h"
#include "tests/server/history/timeline.h"

namespace kbench::history {
namespace {

using ::testing::HasSubstr;

constexpr double kLevel[] = {1.000, 1.002, 0.998, 1.001, 0.999, 1.003, 0.997};
constexpr std::int64_t kHour = 3600;
constexpr std::int64_t kDay = 24 * kHour;

google::protobuf::Timestamp At(std::int64_t seconds) {
  google::protobuf::Timestamp time;
  time.set_seconds(seconds);
  return time;
}

class Watch : public testing::Test {
 protected:
  Watch() : watch_(v1::CellKey()) {}

  v1::HistoryPoint Make(double seconds, const std::string& verdict = "VALID") {
    now_ += kHour;
    auto point = MakePoint("results/job" + std::to_string(count_) + "-0-0", now_,
                           seconds * kLevel[static_cast<std::size_t>(count_) % 7], epoch_);
    ++count_;
    point.set_verdict(verdict);
    return point;
  }
  Decision Feed(const v1::HistoryPoint& point) {
    return watch_.OnResult(point, MakeEpoch(epoch_, "driver of " + epoch_));
  }
  Decision Result(double seconds, const std::string& verdict = "VALID") {
    return Feed(Make(seconds, verdict));
  }
  // Results at one level; what they made of it is added up.
  Decision Results(double seconds, int count) {
    Decision all;
    for (int i = 0; i < count; ++i) {
      const Decision one = Result(seconds);
      all.sessions += one.sessions;
      all.suspected |= one.suspected;
      all.confirmed |= one.confirmed;
      all.rejected |= one.rejected;
      all.cleared |= one.cleared;
      all.epoch_opened |= one.epoch_opened;
    }
    return all;
  }
  v1::RegressionState State() const { return watch_.state().state(); }
  void Confirm() {
    Results(1e-3, 25);
    Results(1.05e-3, 4);
    ASSERT_EQ(State(), v1::CONFIRMED);
  }

  CellWatch watch_;
  std::int64_t now_ = 1'700'000'000;
  int count_ = 0;
  std::string epoch_ = "e1";
};

TEST_F(Watch, LearnsFromFiveResults) {
  for (int i = 1; i < 5; ++i) {
    Result(1e-3);
    EXPECT_EQ(State(), v1::LEARNING);
    EXPECT_FALSE(watch_.state().has_baseline());
  }
  EXPECT_EQ(watch_.state().message(), "learning: 4 of 5 results in this environment");
  Result(1e-3);
  EXPECT_EQ(State(), v1::NONE);
  EXPECT_EQ(watch_.state().baseline().results(), 5);
  Results(1e-3, 40);
  EXPECT_EQ(watch_.state().baseline().results(), kMostBaselineResults);
  EXPECT_NEAR(watch_.state().baseline().seconds(), 1e-3, 1e-6);
  EXPECT_EQ(watch_.state().newest(), "results/job44-0-0");
}

TEST_F(Watch, TheNewestResultIsToldWhateverItsVerdict) {
  v1::HistoryPoint point = MakePoint("results/x-0-0", 1'700'000'100, 1e-3);
  point.set_verdict("SUSPECT");
  watch_.OnResult(point, {});
  EXPECT_EQ(watch_.state().newest(), "");
  EXPECT_EQ(watch_.state().latest(), "results/x-0-0");
  EXPECT_EQ(watch_.state().latest_verdict(), "SUSPECT");
  EXPECT_EQ(watch_.state().latest_time().seconds(), 1'700'000'100);
  now_ = 1'700'000'200;
  Result(1e-3);
  EXPECT_EQ(watch_.state().latest(), watch_.state().newest());
  EXPECT_EQ(watch_.state().latest_verdict(), "VALID");
  point = MakePoint("results/y-0-0", now_ + 1000, 1e-3);
  point.set_low(0.9e-3);
  point.set_high(1.2e-3);
  watch_.OnResult(point, {});
  EXPECT_EQ(watch_.state().low(), 0.9e-3);
  EXPECT_EQ(watch_.state().high(), 1.2e-3);
}

TEST_F(Watch, AStepIsSuspectedAtOnceAndConfirmedByThreeFreshSessions) {
  Results(1e-3, 25);
  const Decision first = Result(1.05e-3);
  EXPECT_TRUE(first.suspected);
  EXPECT_FALSE(first.confirmed) << "one result never confirms itself";
  EXPECT_EQ(first.sessions, 3);
  EXPECT_EQ(first.until.seconds(), now_ + kDay);
  EXPECT_EQ(State(), v1::SUSPECTED);
  EXPECT_EQ(watch_.state().suspect(), "results/job25-0-0");
  EXPECT_NEAR(watch_.state().change_ratio(), 0.05, 0.005);
  EXPECT_THAT(watch_.state().message(), HasSubstr("suspected: "));
  watch_.AddConfirmation("jobs/a");
  for (int i = 0; i < 2; ++i) {
    const Decision more = Result(1.05e-3);
    EXPECT_FALSE(more.confirmed || more.suspected);
    EXPECT_EQ(more.sessions, 0);
    EXPECT_EQ(State(), v1::SUSPECTED);
  }
  EXPECT_TRUE(Result(1.05e-3).confirmed);
  EXPECT_EQ(State(), v1::CONFIRMED);
  EXPECT_EQ(watch_.state().confirmations_size(), 1);
  EXPECT_THAT(watch_.state().message(), HasSubstr("slower again in each of 3 fresh sessions"));
  const Decision later = Results(1.05e-3, 50);
  EXPECT_FALSE(later.confirmed || later.suspected || later.cleared) << "one alert for a step";
  EXPECT_FALSE(Results(1.2e-3, 10).confirmed) << "nor for a further one";
  EXPECT_NEAR(watch_.state().baseline().seconds(), 1e-3, 1e-6) << "it does not follow";
}

TEST_F(Watch, ClearsWhenRestoredTwice) {
  Confirm();
  const Decision first = Result(1e-3);
  EXPECT_FALSE(first.cleared);
  EXPECT_EQ(first.sessions, 1);
  EXPECT_EQ(State(), v1::CONFIRMED);
  EXPECT_FALSE(Result(1.05e-3).cleared) << "a lucky one";
  EXPECT_FALSE(Result(1e-3).cleared);
  EXPECT_TRUE(Result(1e-3).cleared);
  EXPECT_EQ(State(), v1::NONE);
  EXPECT_EQ(watch_.state().suspect(), "");
  EXPECT_EQ(watch_.state().confirmations_size(), 0);
  EXPECT_TRUE(Result(1.05e-3).suspected) << "what was slow then is not its noise now";
}

TEST_F(Watch, ASingleOutlierIsAFalseAlarm) {
  Results(1e-3, 25);
  EXPECT_TRUE(Result(1.5e-3).suspected);
  const Decision next = Result(1e-3);
  EXPECT_TRUE(next.rejected);
  EXPECT_EQ(State(), v1::NONE);
  EXPECT_THAT(watch_.state().message(), HasSubstr("a false alarm raised by results/job25-0-0"));
  EXPECT_FALSE(Results(1e-3, 20).suspected);
  EXPECT_EQ(watch_.state().excluded_size(), 0);
  EXPECT_TRUE(Result(1.05e-3).suspected) << "one outlier does not blunt the gates";
}

TEST_F(Watch, AMedianOfThreeThatHoldsNotUpIsRejected) {
  Results(1e-3, 25);
  Result(1.05e-3);
  Result(1.05e-3);
  Result(1.015e-3);  // above half of 2 %, below the gate
  EXPECT_TRUE(Result(1.016e-3).rejected);
  EXPECT_EQ(State(), v1::NONE);
}

TEST_F(Watch, WhatComesByItselfRaisesTheGates) {
  Results(1e-3, 25);
  int suspected = 0;
  for (int i = 0; i < 20; ++i) {  // every fifth result is 4 % slower
    suspected += Result(1.04e-3).suspected ? 1 : 0;
    Results(1e-3, 4);
  }
  EXPECT_LE(suspected, 8);
  EXPECT_FALSE(Result(1.04e-3).suspected);
  EXPECT_NE(State(), v1::CONFIRMED);
}

TEST_F(Watch, SuspectAndInvalidResultsCountForNothing) {
  Results(1e-3, 25);
  for (const char* verdict : {"SUSPECT", "INVALID"}) {
    for (int i = 0; i < 5; ++i) EXPECT_FALSE(Result(2e-3, verdict).suspected);
  }
  EXPECT_EQ(State(), v1::NONE);
  EXPECT_EQ(watch_.state().newest(), "results/job24-0-0");
  Result(1.05e-3);
  Decision decision = Result(1.05e-3, "SUSPECT");
  EXPECT_EQ(decision.sessions, 1) << "a session that says nothing is asked for again";
  EXPECT_EQ(decision.until.seconds(), watch_.state().since().seconds() + kDay);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(Result(1.05e-3, "INVALID").sessions, 1);
  EXPECT_EQ(Result(1.05e-3, "INVALID").sessions, 0) << "not for ever";
  EXPECT_EQ(State(), v1::SUSPECTED);
}

TEST_F(Watch, AResultOfTheSameJobIsNoFreshSession) {
  Results(1e-3, 25);
  Result(1.05e-3);
  for (int i = 1; i <= 5; ++i) {
    v1::HistoryPoint again = Make(1.05e-3);
    again.set_result("results/job25-" + std::to_string(i) + "-0");
    EXPECT_FALSE(Feed(again).confirmed);
  }
  EXPECT_EQ(State(), v1::SUSPECTED);
  EXPECT_TRUE(Results(1.05e-3, 3).confirmed);
}

TEST_F(Watch, ASuspicionLapsesAfterADay) {
  Results(1e-3, 25);
  Result(1.05e-3);
  EXPECT_FALSE(watch_.OnTime(At(now_ + kDay)).lapsed);
  const Decision late = watch_.OnTime(At(now_ + kDay + 1));
  EXPECT_TRUE(late.lapsed);
  EXPECT_TRUE(late.changed);
  EXPECT_EQ(State(), v1::NONE);
  EXPECT_THAT(watch_.state().message(), HasSubstr("0 of 3 fresh sessions came in time"));
  EXPECT_FALSE(watch_.OnTime(At(now_ + 3 * kDay)).changed);
  // And by the next result, which is suspected itself.
  EXPECT_TRUE(Result(1.05e-3).suspected);
  now_ += 2 * kDay;
  const Decision next = Result(1.05e-3);
  EXPECT_TRUE(next.lapsed);
  EXPECT_TRUE(next.suspected);
}

TEST_F(Watch, ASlowDriftIsFoundOnce) {
  int confirmed = 0;
  int first = 0;
  for (int i = 0; i < 120; ++i) {
    const double drifted = 1e-3 * (1 + 0.001 * i);
    Decision decision = Result(drifted);
    if (decision.suspected && first == 0) first = i;
    for (int left = decision.sessions; left > 0; --left) {
      confirmed += Result(drifted).confirmed ? 1 : 0;
    }
  }
  RecordProperty("first_suspected", first);
  EXPECT_EQ(confirmed, 1);
  EXPECT_GT(first, 20);
  EXPECT_LT(first, 60) << "before it is 6 % slower";
  EXPECT_EQ(State(), v1::CONFIRMED);
}

TEST_F(Watch, FasterForGoodMovesTheBaseline) {
  Results(1e-3, 25);
  Results(0.9e-3, 4);
  EXPECT_NEAR(watch_.state().baseline().seconds(), 1e-3, 1e-6);
  Result(0.9e-3);
  EXPECT_NEAR(watch_.state().baseline().seconds(), 0.9e-3, 2e-6);
  EXPECT_EQ(watch_.state().baseline().results(), 5);
  EXPECT_EQ(State(), v1::NONE);
  Results(0.9e-3, 10);
  EXPECT_TRUE(Result(0.95e-3).suspected) << "half way back is a regression now";
}

TEST_F(Watch, AFewFasterOnesDoNot) {
  Results(1e-3, 25);
  for (int i = 0; i < 5; ++i) {
    Results(0.9e-3, 3);
    Results(1e-3, 1);
  }
  EXPECT_NEAR(watch_.state().baseline().seconds(), 1e-3, 1e-6);
}

TEST_F(Watch, AnotherEnvironmentIsLearntAnewAndRaisesNothing) {
  Results(1e-3, 25);
  epoch_ = "e2";
  const Decision first = Result(1.3e-3);
  EXPECT_TRUE(first.epoch_opened);
  EXPECT_FALSE(first.suspected);
  EXPECT_EQ(State(), v1::LEARNING);
  const Decision all = Results(1.3e-3, 30);
  EXPECT_FALSE(all.suspected || all.epoch_opened);
  EXPECT_EQ(State(), v1::NONE);
  EXPECT_NEAR(watch_.state().baseline().seconds(), 1.3e-3, 2e-6);
  EXPECT_EQ(watch_.state().baseline().epoch(), "e2");
  ASSERT_EQ(watch_.epochs().size(), 2u);
  EXPECT_EQ(watch_.epochs()[1].changed(), "driver driver of e1 -> driver of e2");
}

TEST_F(Watch, AnotherEnvironmentEndsASuspicionAndAnAlert) {
  Results(1e-3, 25);
  Result(1.05e-3);
  epoch_ = "e2";
  EXPECT_FALSE(Result(1.05e-3).rejected);
  EXPECT_EQ(State(), v1::LEARNING);
  epoch_ = "e3";
  Confirm();
  epoch_ = "e4";
  EXPECT_TRUE(Result(1.05e-3).cleared);
  EXPECT_EQ(State(), v1::LEARNING);
}

TEST_F(Watch, APinnedBaselineIsIncomparableElsewhere) {
  Results(1e-3, 25);
  watch_.Pin(watch_.points().back(), "anna", At(++now_));
  EXPECT_EQ(State(), v1::NONE);
  EXPECT_EQ(watch_.state().baseline().by(), "anna");
  Results(1e-3, 3);
  epoch_ = "e2";
  EXPECT_TRUE(Result(2e-3).epoch_opened);
  EXPECT_EQ(State(), v1::INCOMPARABLE);
  EXPECT_EQ(watch_.state().change_ratio(), 0);
  EXPECT_THAT(watch_.state().message(), HasSubstr("driver driver of e1 -> driver of e2"));
  EXPECT_FALSE(Results(2e-3, 20).suspected);
  EXPECT_EQ(State(), v1::INCOMPARABLE);
  epoch_ = "e1";
  EXPECT_FALSE(Result(1e-3).suspected);
  EXPECT_EQ(State(), v1::NONE) << "comparable again";
  EXPECT_TRUE(Result(1.05e-3).suspected);
}

TEST_F(Watch, OnlyAValidResultOfTheNewestEnvironmentCanBePinned) {
  Results(1e-3, 5);
  const v1::HistoryPoint old = watch_.points().back();
  EXPECT_EQ(watch_.WhyNotPinned(old), "");
  EXPECT_EQ(watch_.WhyNotPinned(Make(1e-3, "SUSPECT")),
            "results/job5-0-0 is SUSPECT: only a VALID result can be a baseline");
  epoch_ = "e2";
  Result(1e-3);
  EXPECT_EQ(watch_.WhyNotPinned(watch_.points().back()), "");
  EXPECT_EQ(watch_.WhyNotPinned(old),
            "results/job4-0-0 is not comparable with the newest result (driver driver of e1 -> "
            "driver of e2 since): pin a newer one");
}

TEST_F(Watch, PinningAnewAcceptsARegression) {
  Confirm();
  EXPECT_TRUE(watch_.Pin(watch_.points().back(), "anna", At(++now_)).cleared);
  EXPECT_EQ(State(), v1::NONE);
  EXPECT_NEAR(watch_.state().baseline().seconds(), 1.05e-3, 0.01e-3);
  EXPECT_FALSE(Results(1.05e-3, 30).suspected);
  EXPECT_TRUE(Result(1.11e-3).suspected);
}

TEST_F(Watch, DroppingLearnsFromTheNextResults) {
  Confirm();
  EXPECT_TRUE(watch_.Drop(At(++now_)).cleared);
  EXPECT_EQ(State(), v1::LEARNING);
  Results(1.05e-3, 4);
  EXPECT_EQ(State(), v1::LEARNING);
  Result(1.05e-3);
  EXPECT_EQ(State(), v1::NONE);
  EXPECT_NEAR(watch_.state().baseline().seconds(), 1.05e-3, 3e-6);
}

TEST_F(Watch, KnowsItsNoiseAcrossLevels) {
  for (int i = 0; i < 40; ++i) Result(1e-3 * (1 + 0.004 * (i * 7 % 11)));
  const double noise = watch_.state().baseline().noise_ratio();
  EXPECT_GT(noise, 0.01);
  epoch_ = "e2";
  Results(1e-3, 6);
  EXPECT_GE(watch_.state().baseline().noise_ratio(), noise);
}

TEST_F(Watch, DuplicatesChangeNothing) {
  Results(1e-3, 25);
  const v1::HistoryPoint slow = Make(1.05e-3);
  EXPECT_TRUE(Feed(slow).suspected);
  for (int i = 0; i < 5; ++i) {
    const Decision again = Feed(slow);
    EXPECT_FALSE(again.changed || again.confirmed || again.rejected);
  }
  EXPECT_EQ(State(), v1::SUSPECTED);
  EXPECT_EQ(watch_.points().size(), 26u);
}

TEST_F(Watch, LateResultsArePutInTheirPlaceAndDecideNothing) {
  Results(1e-3, 25);
  v1::HistoryPoint late = MakePoint("results/late-0-0", now_ - 2 * kHour - 1, 1.5e-3, "e1");
  EXPECT_FALSE(Feed(late).suspected);
  EXPECT_EQ(State(), v1::NONE);
  EXPECT_EQ(watch_.points()[22].result(), "results/late-0-0");
  EXPECT_EQ(watch_.state().newest(), "results/job24-0-0");
  Result(1.05e-3);
  late = MakePoint("results/later-0-0", now_ - 1, 1e-3, "e1");
  EXPECT_FALSE(Feed(late).rejected) << "measured before the suspicion";
  late = MakePoint("results/latest-0-0", now_ - 1, 1.05e-3, "e7");
  EXPECT_FALSE(Feed(late).epoch_opened);
  EXPECT_TRUE(Results(1.05e-3, 3).confirmed);
}

TEST_F(Watch, AClockThatJumpsStopsNothing) {
  Results(1e-3, 25);
  now_ += 3650 * kDay;
  Results(1e-3, 3);
  now_ -= 3650 * kDay;
  EXPECT_FALSE(Results(1e-3, 3).suspected);
  EXPECT_TRUE(Result(1.05e-3).suspected);
  EXPECT_TRUE(Results(1.05e-3, 3).confirmed);
  EXPECT_TRUE(Results(1e-3, 2).cleared);
}

TEST_F(Watch, AClockSetBackWhileInDoubt) {
  Results(1e-3, 25);
  now_ += 3650 * kDay;
  EXPECT_TRUE(Result(1.05e-3).suspected);
  now_ -= 3650 * kDay;
  EXPECT_TRUE(Results(1.05e-3, 3).confirmed) << "by their order, not by their times";
  now_ -= 365 * kDay;
  EXPECT_TRUE(Results(1e-3, 2).cleared);
}

TEST_F(Watch, ASuspicionLapsesThoughTheClockWasSetBack) {
  Results(1e-3, 25);
  Result(1.05e-3);
  EXPECT_FALSE(watch_.OnTime(At(now_ - kHour)).lapsed);
  EXPECT_TRUE(watch_.OnTime(At(now_ - 2 * kDay)).lapsed) << "else it would wait for days";
}

TEST_F(Watch, LearnsThoughTheClockWasAheadAtFirst) {
  now_ += 3650 * kDay;
  Results(1e-3, 2);
  now_ -= 3650 * kDay;
  Results(1e-3, 25);
  EXPECT_EQ(State(), v1::NONE);
  EXPECT_TRUE(Result(1.05e-3).suspected);
}

TEST_F(Watch, RestoresInEveryStateAndGoesOnAlike) {
  // The same results through one watch, and through one that is stored and restored after each.
  NoiseModel noise = NoiseModels()[1];
  Timeline timeline(noise, 3);
  CellWatch kept{v1::CellKey()};
  CellWatch restored{v1::CellKey()};
  for (int i = 0; i < 300; ++i) {
    const double factor = i / 60 % 2 == 0 ? 1 : 1.05;
    const v1::HistoryPoint point = timeline.Next(1e-3 * (i % 37 == 0 ? 1.3 : factor));
    const std::string epoch = i < 200 ? "e1" : "e2";
    v1::HistoryPoint placed = point;
    placed.set_epoch(epoch);
    const Decision one = kept.OnResult(placed, MakeEpoch(epoch));
    restored = CellWatch::Restore(restored.state(), restored.points(), restored.epochs());
    const Decision two = restored.OnResult(placed, MakeEpoch(epoch));
    ASSERT_EQ(one.sessions, two.sessions) << i;
    ASSERT_EQ(one.confirmed, two.confirmed) << i;
    ASSERT_EQ(kept.state().SerializeAsString(), restored.state().SerializeAsString()) << i;
  }
}

TEST_F(Watch, WithoutAStoredStateThePointsAreGoneThroughAgain) {
  Confirm();
  const CellWatch again = CellWatch::Restore(v1::CellState(), watch_.points(), watch_.epochs(), {});
  EXPECT_EQ(again.state().SerializeAsString(), watch_.state().SerializeAsString());
  const CellWatch empty = CellWatch::Restore(v1::CellState(), {}, {});
  EXPECT_EQ(empty.state().state(), v1::REGRESSION_STATE_UNSPECIFIED);
}

TEST_F(Watch, KeepsABoundedNumberOfPoints) {
  Results(1e-3, 1000);
  EXPECT_EQ(watch_.points().size(), 200u);
  EXPECT_EQ(watch_.epochs().size(), 1u);
  EXPECT_EQ(watch_.state().baseline().results(), kMostBaselineResults);
  for (int i = 0; i < 300; ++i) {
    epoch_ = "e" + std::to_string(i);
    Result(1e-3);
  }
  EXPECT_LE(watch_.epochs().size(), 201u);
}

}  // namespace
}  // namespace kbench::history
