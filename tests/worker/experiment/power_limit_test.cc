// Passes against one long visit, by simulation of a device at its power limit: a clock that swings
// as a stochastic oscillator (without a period: an AR(1)), seen by turns by the cells of a case.
// The real plan of visits, the real escalation, the real stop rule; fixed seeds.
//
// What can be had is bounded: visits that interleave the cells finely see the whole round instead
// of a piece of it, cells times as much. Of an AR(1) that narrows the interval by sqrt(cells) at
// most, of a swing with a period by more; of a single cell not at all.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "worker/experiment/passes.h"
#include "worker/experiment/records.h"
#include "worker/experiment/round_plan.h"
#include "worker/experiment/stop_rule.h"

namespace kbench::experiment {
namespace {

constexpr double kTarget = 0.005;
constexpr double kPace = 1.7e-3;  // a launch of 1.5 ms and its flush
constexpr double kApart = 3e-3;   // of a visit, beside its samples
constexpr int kPassSamples = 10;
constexpr int kMostSamplesOfVisit = 294;

struct Swing {
  double sd = 0.03;
  double correlation_seconds = 0.15;
  double period_seconds = 0;  // 0: none
};

constexpr Swing kAr{0.03, 0.15, 0};
// As an H200's: autocorrelations of 0.91, 0.68, 0.51, 0.26, -0.39 and 0.26 were measured after 10,
// 50, 100, 200, 400 and 1000 ms (matmul fp16 8192, cold, alone).
constexpr Swing kMeasured{0.03, 0.6, 1};

class Clock {
 public:
  Clock(const Swing& swing, std::uint64_t seed) : swing_(swing), bits_(seed) { state_ = Gauss(); }

  // The time of a launch over its median, `seconds` later.
  double After(double seconds) {
    const double kept = std::exp(-seconds / swing_.correlation_seconds);
    const double turn =
        swing_.period_seconds > 0 ? 2 * std::numbers::pi * seconds / swing_.period_seconds : 0;
    state_ = state_ * std::polar(kept, turn) + std::sqrt(1 - kept * kept) * Gauss();
    return 1 + swing_.sd * state_.real();
  }

 private:
  double Uniform() { return (static_cast<double>(bits_() >> 11) + 0.5) * 0x1p-53; }
  std::complex<double> Gauss() {
    return std::polar(std::sqrt(-2 * std::log(Uniform())), 2 * std::numbers::pi * Uniform());
  }

  Swing swing_;
  std::mt19937_64 bits_;
  std::complex<double> state_;
};

struct Plan {
  int cells = 3;
  int visit_samples = kPassSamples;
  int passes = 1;
  double soft_seconds = 0;  // above 0: escalates
  bool looks = false;       // stops at a look
};

struct Run {
  stats::Interval interval;
  int rounds = 0;
  int passes = 0;
  double seconds = 0;
  StopState state = StopState::kContinue;
};

// The first of the cells, measured.
Run Measure(const Plan& plan, const Swing& swing, std::uint64_t seed) {
  Clock clock(swing, seed);
  CellRecord record;
  Unsettled progress{{}, 0, plan.visit_samples};
  const auto cells = static_cast<std::size_t>(plan.cells);
  const std::vector<int> samples(cells, plan.visit_samples);
  const std::vector<int> most(cells, std::max(kMostSamplesOfVisit, plan.visit_samples));
  const double pass_seconds = plan.cells * (plan.visit_samples * kPace + kApart);
  Run run;
  run.passes = plan.passes;
  while (run.rounds < kMaxRounds && run.state == StopState::kContinue) {
    if (plan.soft_seconds > 0 && run.seconds > plan.soft_seconds) break;
    std::vector<std::size_t> order;
    for (const int cell : RoundPlan(seed, plan.cells).Order(run.rounds)) {
      order.push_back(static_cast<std::size_t>(cell));
    }
    RoundRecord round;
    for (const auto& visit : VisitsOfRound(order, samples, most, run.passes)) {
      const double seconds = kApart + kPace * visit.samples;
      run.seconds += seconds;
      if (visit.cell != 0) {
        (void)clock.After(seconds);
        continue;
      }
      VisitRecord taken;
      for (int i = 0; i < visit.samples; ++i) {
        taken.device_seconds.push_back(clock.After(i == 0 ? kApart + kPace : kPace));
      }
      round.Pool(std::move(taken));
    }
    progress.round_samples.push_back(static_cast<int>(round.device_seconds.size()));
    record.Add(std::move(round));
    ++run.rounds;
    const auto medians = record.Medians();
    if (plan.looks) run.state = Look({.target_ratio = kTarget}, medians);
    if (plan.soft_seconds <= 0 || !IsLook(run.rounds)) continue;
    progress.interval_ratio = IntervalRatio(medians);
    run.passes = EscalatedPasses({{progress}}, kTarget, plan.passes, pass_seconds,
                                 0.95 * (plan.soft_seconds - run.seconds));
  }
  run.interval = *PublishedInterval(record.Medians());
  return run;
}

struct Summary {
  double covered = 0;
  double half_width = 0;
  double seconds = 0;  // the longest run
};

Summary Simulate(const Plan& plan, const Swing& swing) {
  constexpr int kRuns = 1000;
  Summary sum;
  for (int i = 0; i < kRuns; ++i) {
    const Run run = Measure(plan, swing, static_cast<std::uint64_t>(i) + 1);
    sum.covered += run.interval.low <= 1 && 1 <= run.interval.high ? 1.0 / kRuns : 0;
    sum.half_width += run.interval.half_width() / kRuns;
    sum.seconds = std::max(sum.seconds, run.seconds);
  }
  return sum;
}

// 40 rounds of 12 short visits against 40 of one visit each that takes as long.
struct Both {
  Summary passes;
  Summary one_visit;
  double ratio() const { return passes.half_width / one_visit.half_width; }
};

Both Compare(int cells, const Swing& swing) {
  constexpr int kPasses = 12;
  constexpr int kLong = 140;  // 12 visits of 10, and the time between them
  const Both both{Simulate({.cells = cells, .passes = kPasses}, swing),
                  Simulate({.cells = cells, .visit_samples = kLong}, swing)};
  std::printf(
      "%d cells, period %.1f s: half-width %.2f %% against %.2f %%, covered %.3f and %.3f\n", cells,
      swing.period_seconds, 100 * both.passes.half_width, 100 * both.one_visit.half_width,
      both.passes.covered, both.one_visit.covered);
  return both;
}

TEST(PowerLimit, ShortVisitsNarrowTheIntervalAtTheSameMeasuringTime) {
  for (const Swing& swing : {kAr, kMeasured}) {
    for (const auto& [cells, most] : {std::pair{3, 0.8}, std::pair{5, 0.67}}) {
      const Both both = Compare(cells, swing);
      EXPECT_LE(both.passes.seconds, both.one_visit.seconds);
      EXPECT_LE(both.ratio(), most) << cells << " " << swing.period_seconds;
      EXPECT_GE(both.passes.covered, 0.95) << cells << " " << swing.period_seconds;
    }
  }
  EXPECT_LE(Compare(5, kMeasured).ratio(), 0.5);
}

TEST(PowerLimit, ALoneCellIsWorthAsMuchInOneVisit) {
  EXPECT_NEAR(Compare(1, kAr).ratio(), 1, 0.1);
  EXPECT_NEAR(Compare(1, kMeasured).ratio(), 1, 0.1);
}

TEST(PowerLimit, EscalationKeepsWithinItsTimeAndNarrows) {
  constexpr double kSoft = 30;
  for (const Swing& swing : {kAr, kMeasured}) {
    const Plan plan{.passes = 3, .looks = true};
    Plan escalating = plan;
    escalating.soft_seconds = kSoft;
    const Summary before = Simulate(plan, swing);
    const Summary after = Simulate(escalating, swing);
    std::printf("period %.1f s: half-width %.2f %% -> %.2f %%, covered %.3f -> %.3f\n",
                swing.period_seconds, 100 * before.half_width, 100 * after.half_width,
                before.covered, after.covered);
    EXPECT_LT(after.half_width, 0.9 * before.half_width);
    EXPECT_GE(after.covered, before.covered - 0.01);
    EXPECT_LE(after.seconds, 1.05 * kSoft);
  }
}

}  // namespace
}  // namespace kbench::experiment
