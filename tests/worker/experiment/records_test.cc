#include "worker/experiment/records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "stats/summary.h"
#include "worker/experiment/budget.h"
#include "worker/experiment/stop_rule.h"

namespace kbench::experiment {
namespace {

using testing::ElementsAre;

VisitRecord Visit(std::vector<double> seconds) {
  VisitRecord visit;
  visit.device_seconds = std::move(seconds);
  visit.seconds = 1;
  return visit;
}

double MedianOf(std::vector<std::vector<double>> visits) {
  RoundRecord round;
  for (auto& seconds : visits) round.Pool(Visit(std::move(seconds)));
  CellRecord record;
  record.Add(std::move(round));
  return record.rounds[0].median;
}

TEST(RoundRecord, PoolsItsVisits) {
  RoundRecord round;
  round.Pool({{1, 2}, {0.1, 0.2}, 3, {"STOLEN"}, 1e9, 0.1});
  round.Pool({{5}, {}, 1, {"STOLEN", "MIGRATED"}, 2e9, 0.3});
  round.Pool({{7, 8}, {0.3}, 0, {}, 0, 5});  // a clock that is not known tells nothing
  EXPECT_THAT(round.device_seconds, ElementsAre(1, 2, 5, 7, 8));
  EXPECT_THAT(round.submit_seconds, ElementsAre(0.1, 0.2, 0.3));
  EXPECT_THAT(round.visits, ElementsAre(2, 1, 2));
  EXPECT_THAT(round.Visits(), ElementsAre(ElementsAre(1, 2), ElementsAre(5), ElementsAre(7, 8)));
  EXPECT_THAT(round.flags, ElementsAre("STOLEN", "MIGRATED"));
  EXPECT_EQ(round.discarded_samples, 4);
  EXPECT_DOUBLE_EQ(round.clock_hertz, 1.75e9);
}

TEST(CellRecord, CountsAFlagOnceARound) {
  CellRecord record;
  for (const char* flag : {"STOLEN", "", "", ""}) {
    RoundRecord round;
    for (int visit = 0; visit < 3; ++visit) {
      round.Pool({{1, 1}, {}, 0, {flag}, 0, 1});
    }
    record.Add(round);
  }
  EXPECT_DOUBLE_EQ(record.FlagShare("STOLEN"), 0.25);
}

TEST(CellRecord, TheMedianFavoursNeitherHalfOfAPair) {
  EXPECT_DOUBLE_EQ(MedianOf({{1, 3, 1, 3}}), 2);
  EXPECT_DOUBLE_EQ(MedianOf({{1, 3, 1, 3, 1}}), 2);  // one was lost
  EXPECT_DOUBLE_EQ(MedianOf({{3, 1, 3}}), 2);
  EXPECT_DOUBLE_EQ(MedianOf({{1, 3, 1}, {3, 1, 3, 1, 3}, {1, 3}}), 2);
  EXPECT_DOUBLE_EQ(MedianOf({{7}}), 7);
  EXPECT_DOUBLE_EQ(MedianOf({{7}, {9}, {8}}), 8) << "visits of a long launch are no pairs";
  EXPECT_DOUBLE_EQ(MedianOf({{0.9, 1, 1.1}}), 1);
}

TEST(CellRecord, OfLaunchesWithoutRestItIsTheMean) {
  CellRecord record;
  RoundRecord round;
  round.back_to_back = true;
  round.Pool(Visit({1, 1, 1, 5}));
  record.Add(round);
  EXPECT_DOUBLE_EQ(record.rounds[0].median, 2);
}

TEST(CellRecord, NeighboursAreThoseOfOneVisit) {
  // Each visit rises; from one to the next it falls.
  CellRecord record;
  RoundRecord round;
  for (int visit = 0; visit < 20; ++visit) round.Pool(Visit({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
  record.Add(round);
  CellRecord whole;
  RoundRecord one;
  one.device_seconds = record.rounds[0].device_seconds;
  whole.Add(one);
  EXPECT_GT(record.Lag1Correlation(), whole.Lag1Correlation() + 0.1);
}

// Every other sample is slow, whichever round it falls into: two modes of 43.43 and 44.12 us.
class Alternating {
 public:
  std::vector<double> Take(int samples) {
    std::vector<double> seconds;
    for (int i = 0; i < samples; ++i) {
      slow_ = !slow_;
      seconds.push_back((slow_ ? 44.12e-6 : 43.43e-6) + 0.02e-6 * Wobble());
    }
    return seconds;
  }

 private:
  double Wobble() {  // within -3 .. 3, about normal
    double sum = 0;
    for (int i = 0; i < 12; ++i) sum += static_cast<double>(bits_() >> 11) * 0x1p-53 - 0.5;
    return sum;
  }

  std::mt19937_64 bits_{1};
  bool slow_ = false;
};

struct Ended {
  int rounds = 0;
  StopState state = StopState::kContinue;
  stats::Interval interval;
};

// `plain`: the median that knows nothing of pairs.
Ended Measure(int samples, bool plain) {
  Alternating kernel;
  CellRecord record;
  Ended ended;
  std::vector<double> medians;
  while (ended.state == StopState::kContinue) {
    RoundRecord round;
    round.Pool(Visit(kernel.Take(samples)));
    medians.push_back(stats::Median(round.device_seconds));
    record.Add(std::move(round));
    if (!plain) medians.back() = record.rounds.back().median;
    ended.state = Look({.target_ratio = 0.005}, medians);
  }
  ended.rounds = static_cast<int>(medians.size());
  ended.interval = *PublishedInterval(medians);
  return ended;
}

TEST(AlternatingSamples, ConvergeWithEvenCountsAndNotWithOddOnes) {
  constexpr double kTruth = (43.43e-6 + 44.12e-6) / 2;
  const Ended odd = Measure(715, true);
  EXPECT_EQ(odd.state, StopState::kExhausted);
  EXPECT_GT(odd.interval.half_width(), 0.006 * kTruth) << "from one mode to the other";

  const int full = FullSamples({.device_seconds = 44e-6, .pace_seconds = 167e-6});
  EXPECT_EQ(full % 2, 0);
  for (const int samples : {full, 714}) {
    const Ended even = Measure(samples, true);
    EXPECT_EQ(even.state, StopState::kConverged);
    EXPECT_EQ(even.rounds, 8);
    EXPECT_NEAR(even.interval.centre, kTruth, 0.0005 * kTruth);
    EXPECT_LT(even.interval.half_width(), 0.0005 * kTruth);
  }
  const Ended lost = Measure(715, false);  // the engine threw one away
  EXPECT_EQ(lost.state, StopState::kConverged);
  EXPECT_EQ(lost.rounds, 8);
  EXPECT_NEAR(lost.interval.centre, kTruth, 0.0005 * kTruth);
}

}  // namespace
}  // namespace kbench::experiment
