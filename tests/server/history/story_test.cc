// Whole stories: stored results through points, the watch, change points and cause, as the
// coordinator puts them together; and whatever may come in any order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "server/history/baseline.h"
#include "server/history/cause.h"
#include "server/history/cell_watch.h"
#include "server/history/change_points.h"
#include "server/history/environment.h"
#include "server/history/points.h"
#include "tests/server/history/timeline.h"

namespace kbench::history {
namespace {

using ::testing::HasSubstr;

class Story : public testing::Test {
 protected:
  // A session of a kernel that needs so many cycles, at this clock.
  v1::Result Measure(double cycles, double clock) {
    const std::string id = "job" + std::to_string(results_.size());
    v1::Result result;
    result.set_name("results/" + id + "-0-0");
    result.set_job("jobs/" + id);
    result.mutable_case_()->set_kernel("sum");
    result.mutable_case_()->set_dtype("fp32");
    result.mutable_case_()->set_mode("cold");
    result.set_implementation("cuda/vectorized");
    result.set_outcome(v1::OUTCOME_OK);
    result.set_verdict(v1::VERDICT_VALID);
    result.mutable_create_time()->set_seconds(1'700'000'000 +
                                              3600 * static_cast<std::int64_t>(results_.size()));
    result.mutable_environment()->set_driver(driver_);
    result.mutable_environment()->set_engine_version(engine_);
    (*result.mutable_environment()->mutable_libraries())["cublas"] = cublas_;
    result.mutable_telemetry()->set_sm_clock_hertz(clock);
    auto& time = *result.mutable_device_time();
    const double session = cycles / clock * (1 + 0.002 * random_.Gauss());
    for (int round = 0; round < 9; ++round) {
      time.add_round_numbers(round);
      time.add_round_medians(session * (1 + 0.001 * random_.Gauss()));
      time.add_round_clocks(clock);
    }
    std::vector<double> sorted(time.round_medians().begin(), time.round_medians().end());
    std::sort(sorted.begin(), sorted.end());
    time.set_median(sorted[4]);
    time.set_history_low(0.994 * sorted[4]);
    time.set_history_high(1.006 * sorted[4]);
    result.set_device_cycles(sorted[4] * clock);
    return result;
  }

  Decision Feed(double cycles, double clock = 1.98e9) {
    results_.push_back(Measure(cycles, clock));
    return watch_.OnResult(PointOf(results_.back()), EpochOf(results_.back()));
  }
  // So many results, with the sessions that they make necessary.
  Decision Run(double cycles, int count, double clock = 1.98e9) {
    Decision all;
    for (int i = 0; i < count; ++i) {
      Decision one = Feed(cycles, clock);
      all.suspected |= one.suspected;
      all.epoch_opened |= one.epoch_opened;
      for (int left = one.sessions; left > 0; --left) {
        one = Feed(cycles, clock);
        left += one.sessions;
        all.confirmed |= one.confirmed;
        all.cleared |= one.cleared;
      }
    }
    return all;
  }
  const v1::Result& Find(const std::string& name) const {
    return *std::find_if(results_.begin(), results_.end(),
                         [&](const v1::Result& result) { return result.name() == name; });
  }
  v1::Cause WhySuspected() const {
    return Why(Find(watch_.state().baseline().result()), Find(watch_.state().suspect()));
  }

  Random random_{11};
  CellWatch watch_{v1::CellKey()};
  std::vector<v1::Result> results_;
  std::string driver_ = "580.1", engine_ = "0.7", cublas_ = "13.0";
};

TEST_F(Story, AKernelSlowedByFivePercent) {
  Run(2e6, 30);
  const std::size_t step = results_.size();
  const Decision slowed = Run(2.1e6, 1);
  EXPECT_TRUE(slowed.suspected);
  EXPECT_TRUE(slowed.confirmed);
  const v1::Cause cause = WhySuspected();
  EXPECT_EQ(cause.verdict(), "KERNEL");
  EXPECT_THAT(cause.sentence(), HasSubstr("the kernel, not the clock: +"));
  EXPECT_FALSE(Run(2.1e6, 10).confirmed) << "one alert";
  const auto changes = ChangePoints(watch_.points());
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].result(), results_[step].name());
  EXPECT_NEAR(changes[0].ratio(), 1.05, 0.005);
  EXPECT_TRUE(Run(2e6, 1).cleared) << "the second result is asked for";
  EXPECT_EQ(watch_.state().state(), v1::NONE);
}

TEST_F(Story, AClockThatFellIsFoundAndNamed) {
  Run(2e6, 30);
  EXPECT_TRUE(Run(2e6, 1, 1.86e9).confirmed);
  const v1::Cause cause = WhySuspected();
  EXPECT_EQ(cause.verdict(), "CLOCK");
  EXPECT_THAT(cause.sentence(), HasSubstr("clock, not the kernel: +6"));
  EXPECT_THAT(cause.sentence(), HasSubstr("clock 1980 MHz -> 1860 MHz"));
}

TEST_F(Story, AnotherDriverLibraryOrEngineRaisesNothing) {
  Run(2e6, 30);
  for (std::string* changed : {&driver_, &cublas_, &engine_}) {
    *changed += ".1";
    const Decision decision = Run(2.4e6, 25);
    EXPECT_TRUE(decision.epoch_opened);
    EXPECT_FALSE(decision.suspected || decision.confirmed);
    Run(2e6, 25);
  }
  EXPECT_EQ(watch_.epochs().size(), 4u);
  EXPECT_EQ(watch_.epochs()[1].changed(), "driver 580.1 -> 580.1.1");
  EXPECT_EQ(watch_.epochs()[3].changed(), "engine 0.7 -> 0.7.1");
  const auto changes = ChangePoints(watch_.points());
  EXPECT_TRUE(std::any_of(changes.begin(), changes.end(),
                          [](const v1::ChangePoint& change) { return change.new_epoch(); }));
}

// What may come from a store, a clock or a person, in any order.
class Anything {
 public:
  explicit Anything(std::uint64_t seed) : random_(seed) {}

  int Below(int bound) { return static_cast<int>(random_.Uniform() * bound); }

  v1::HistoryPoint Point() {
    static const double seconds[] = {
        1e-3, 1e-3, 1e-3, 1.001e-3, 1.05e-3,      2e-3,
        1e-9, 1e6,  0,    -1e-3,    std::nan(""), std::numeric_limits<double>::infinity()};
    now_ += Below(40) == 0 ? (Below(2) == 0 ? 1 : -1) * Below(400'000'000) : Below(7200) - 600;
    // A new name, or one that was there before.
    const int number = Below(12) == 0 ? Below(count_ + 1) : count_++;
    v1::HistoryPoint point =
        MakePoint("results/job" + std::to_string(number) + "-0-0", now_,
                  seconds[Below(Below(3) == 0 ? 12 : 4)], Below(30) == 0 ? "e2" : "e1");
    if (Below(10) == 0) point.set_verdict(Below(2) == 0 ? "SUSPECT" : "INVALID");
    if (Below(50) == 0) point.clear_result();
    return point;
  }
  google::protobuf::Timestamp Now() {
    google::protobuf::Timestamp now;
    now.set_seconds(now_);
    return now;
  }

 private:
  Random random_;
  std::int64_t now_ = 1'700'000'000;
  int count_ = 0;
};

void Hold(const CellWatch& watch, const Decision& decision) {
  const v1::CellState& state = watch.state();
  EXPECT_EQ(state.has_baseline(), state.state() > v1::LEARNING) << state.ShortDebugString();
  EXPECT_EQ(state.suspect().empty(),
            state.state() != v1::SUSPECTED && state.state() != v1::CONFIRMED);
  EXPECT_TRUE(std::isfinite(state.change_ratio()) && std::isfinite(state.change_high()));
  EXPECT_TRUE(!state.has_baseline() || state.baseline().seconds() > 0);
  EXPECT_LE(watch.points().size(), 200u);
  EXPECT_LE(state.excluded_size(), 200);
  EXPECT_LE(decision.sessions, 3);
  EXPECT_FALSE(decision.confirmed && decision.suspected) << "one result confirms nothing";
  EXPECT_TRUE(!decision.confirmed || state.state() == v1::CONFIRMED);
}

TEST(AnyOrder, HoldsWhatIsPromised) {
  int confirmed = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Anything any(seed);
    CellWatch watch{v1::CellKey()};
    for (int i = 0; i < 1500 && !testing::Test::HasFailure(); ++i) {
      Decision decision;
      const int what = any.Below(60);
      if (what == 0 && !watch.points().empty()) {
        const v1::HistoryPoint point = watch.points()[static_cast<std::size_t>(
            any.Below(static_cast<int>(watch.points().size())))];
        if (watch.WhyNotPinned(point).empty()) decision = watch.Pin(point, "anna", any.Now());
      } else if (what == 1) {
        decision = watch.Drop(any.Now());
      } else if (what == 2) {
        decision = watch.OnTime(any.Now());
      } else if (what == 3) {
        watch = CellWatch::Restore(watch.state(), watch.points(), watch.epochs());
      } else {
        const v1::HistoryPoint point = any.Point();
        decision = watch.OnResult(point, MakeEpoch(point.epoch()));
      }
      Hold(watch, decision);
      confirmed += decision.confirmed ? 1 : 0;
    }
    ChangePoints(watch.points());
  }
  EXPECT_GT(confirmed, 0) << "or the events are too tame";
}

}  // namespace
}  // namespace kbench::history
