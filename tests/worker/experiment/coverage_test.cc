// The promises of the published interval and of the verdicts, by simulation of whole experiments
// sample by sample: 2,000 runs a case, a fixed seed, the real stop rule.
//
// The ideal half-width for n rounds is 1.96 times the standard deviation of the median of n
// independent round medians of the same noise: what somebody would publish who knows the noise
// exactly and takes n rounds without ever looking. It is found by resampling a large pool of round
// medians.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numbers>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "stats/summary.h"
#include "worker/experiment/compare.h"
#include "worker/experiment/stop_rule.h"

namespace kbench::experiment {
namespace {

constexpr int kRuns = 2000;
constexpr double kTarget = 0.005;
constexpr int kSamples = 10;  // of a round: the fewest that the budget plans

// The same numbers from every standard library, unlike std::normal_distribution.
class Random {
 public:
  explicit Random(std::uint64_t seed) : bits_(seed) {}
  double Uniform() { return (static_cast<double>(bits_() >> 11) + 0.5) * 0x1p-53; }
  double Gauss() {  // Box and Muller
    if (std::isnan(spare_)) {
      const double radius = std::sqrt(-2 * std::log(Uniform()));
      const double angle = 2 * std::numbers::pi * Uniform();
      spare_ = radius * std::sin(angle);
      return radius * std::cos(angle);
    }
    const double value = spare_;
    spare_ = std::nan("");
    return value;
  }
  double Student3() {
    const double a = Gauss(), b = Gauss(), c = Gauss();
    return Gauss() / std::sqrt((a * a + b * b + c * c) / 3);
  }

 private:
  std::mt19937_64 bits_;
  double spare_ = std::nan("");
};

// The noise of one cell. All of them have median 0 and are scaled by the case's level.
struct Noise {
  enum class Shape { kGauss, kStudent3, kLogNormal, kDelays } shape = Shape::kGauss;
  double rho = 0;    // AR(1) within a round: correlation of neighbouring samples
  double shift = 0;  // standard deviation of a round's own shift
};

double Phi(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }

// 3 % of the samples are delayed by ten standard deviations on average.
constexpr double kDelayShare = 0.03;
constexpr double kDelayMean = 10;

// The median of the delayed mixture: its distribution is a normal and an exponentially modified
// one.
double DelaysMedian() {
  const double rate = 1 / kDelayMean;
  double low = 0;
  double high = 1;
  while (high - low > 1e-12) {
    const double x = (low + high) / 2;
    const double late = Phi(x) - std::exp(rate * rate / 2 - rate * x) * Phi(x - rate);
    ((1 - kDelayShare) * Phi(x) + kDelayShare * late < 0.5 ? low : high) = x;
  }
  return low;
}

class Cell {
 public:
  Cell(const Noise& noise, double level) : noise_(noise), level_(level) {}

  // The median of one round whose samples scatter around `median`; `common` shifts all cells of the
  // round.
  double Round(Random& random, double median, double common) const {
    const double shift = common + noise_.shift * random.Gauss();
    double state = random.Gauss();
    double samples[kSamples];
    for (double& sample : samples) {
      sample = median * (1 + level_ * (Sample(random, state) + shift));
      state = noise_.rho * state + std::sqrt(1 - noise_.rho * noise_.rho) * random.Gauss();
    }
    return stats::Median(samples);
  }

 private:
  double Sample(Random& random, double state) const {
    static const double delays_median = DelaysMedian();
    switch (noise_.shape) {
      case Noise::Shape::kGauss:
        return state;
      case Noise::Shape::kStudent3:
        // Heavy tails on top of a correlated state, symmetric about 0.
        return noise_.rho > 0 ? state + 0.5 * random.Student3() : random.Student3();
      case Noise::Shape::kLogNormal:
        return std::exp(state) - 1;
      case Noise::Shape::kDelays:
        break;
    }
    const bool late = random.Uniform() < kDelayShare;
    return state - delays_median + (late ? -kDelayMean * std::log(random.Uniform()) : 0);
  }

  Noise noise_;
  double level_;
};

struct Case {
  std::string name;
  Noise noise;
};

const std::vector<Case>& Cases() {
  using enum Noise::Shape;
  static const std::vector<Case> cases = {
      {"gauss", {kGauss, 0, 0}},
      {"student3", {kStudent3, 0, 0}},
      {"lognormal", {kLogNormal, 0, 0}},
      {"delays", {kDelays, 0, 0}},
      {"ar_03", {kGauss, 0.3, 0}},
      {"ar_06", {kGauss, 0.6, 0}},
      {"ar_06_student3", {kStudent3, 0.6, 0}},
      {"shifts", {kGauss, 0, 1}},
      {"shifts_ar_06_delays", {kDelays, 0.6, 0.5}},
  };
  return cases;
}

// Scale of the noise at which round medians scatter by `ratio`.
double LevelFor(const Noise& noise, double ratio) {
  Random random(99);
  std::vector<double> medians(4001);
  for (double& median : medians) median = Cell(noise, 1e-3).Round(random, 1, 0);
  return 1e-3 * ratio / stats::StdDev(medians);
}

// The ideal half-width for a number of rounds, found once for each.
class Ideal {
 public:
  Ideal(const Cell& cell, Random& random) : pool_(8001), random_(random) {
    for (double& median : pool_) median = cell.Round(random_, 1, 0);
  }
  double HalfWidth(int rounds) {
    double& known = by_rounds_[rounds];
    if (known > 0) return known;
    std::vector<double> medians(2000);
    std::vector<double> drawn(static_cast<std::size_t>(rounds));
    for (double& median : medians) {
      for (double& value : drawn) {
        value =
            pool_[static_cast<std::size_t>(random_.Uniform() * static_cast<double>(pool_.size()))];
      }
      median = stats::Median(drawn);
    }
    return known = 1.96 * stats::StdDev(medians);
  }

 private:
  std::vector<double> pool_;
  Random& random_;
  std::map<int, double> by_rounds_;
};

struct Outcome {
  double covered = 0;  // share of the runs whose interval holds the true median
  double width = 0;    // mean of half-width over ideal half-width
  double mean_rounds = 0;
};

// `budget`: rounds after which the time is over, whether or not a look comes then.
Outcome Simulate(const Case& one, double ratio, int budget, std::uint64_t seed) {
  Random random(seed);
  const Cell cell(one.noise, LevelFor(one.noise, ratio));
  Ideal ideal(cell, random);
  Outcome outcome;
  for (int run = 0; run < kRuns; ++run) {
    const StopRule rule{.target_ratio = kTarget};
    std::vector<double> medians;
    while (static_cast<int>(medians.size()) < budget &&
           Look(rule, medians) == StopState::kContinue) {
      medians.push_back(cell.Round(random, 1, 0));
    }
    const auto interval = PublishedInterval(medians);
    outcome.covered += interval->low <= 1 && 1 <= interval->high ? 1.0 / kRuns : 0;
    outcome.width +=
        interval->half_width() / ideal.HalfWidth(static_cast<int>(medians.size())) / kRuns;
    outcome.mean_rounds += static_cast<double>(medians.size()) / kRuns;
  }
  return outcome;
}

class Coverage : public testing::TestWithParam<Case> {};

void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }
std::string NameOf(const testing::TestParamInfo<Case>& info) { return info.param.name; }

// Round medians that scatter by 0.4 to 4 times the target: from always stopping at the first look
// to hardly ever stopping early.
TEST_P(Coverage, OfThePublishedInterval) {
  for (const double times : {0.4, 1.0, 2.0, 4.0}) {
    const Outcome outcome = Simulate(GetParam(), times * kTarget, kMaxRounds, 1);
    EXPECT_GE(outcome.covered, 0.95) << times;
    EXPECT_LE(outcome.width, 1.6) << times;
    const std::string key = "noise_" + std::to_string(times).substr(0, 3);
    RecordProperty(key + "_covered", std::to_string(outcome.covered));
    RecordProperty(key + "_width", std::to_string(outcome.width));
    RecordProperty(key + "_rounds", std::to_string(outcome.mean_rounds));
  }
}
INSTANTIATE_TEST_SUITE_P(Noise, Coverage, testing::ValuesIn(Cases()), NameOf);

TEST(CoverageAtTheDeadline, WhenTheBudgetEndsBetweenLooks) {
  for (const int budget : {6, 10, 15, 23}) {
    const Outcome outcome = Simulate(Cases().front(), 2 * kTarget, budget, 1);
    EXPECT_GE(outcome.covered, 0.95) << budget;
    EXPECT_LE(outcome.width, 1.6) << budget;
  }
}

// Two cells visited in the same rounds until both have settled, as a case measures them.
v1::BaselineComparison RunPair(const Cell& cell, double own_median, double common, Random& random) {
  CellRecord baseline;
  CellRecord own;
  const StopRule rule{.target_ratio = kTarget};
  StopState baseline_stop = StopState::kContinue;
  StopState own_stop = StopState::kContinue;
  const auto visit = [&](CellRecord& record, StopState& stop, int number, double median,
                         double shift) {
    RoundRecord round;
    round.round = number;
    round.device_seconds = {cell.Round(random, median, shift)};
    record.Add(round);
    if (stop == StopState::kContinue) stop = Look(rule, record.Medians());
  };
  for (int number = 0; baseline_stop == StopState::kContinue || own_stop == StopState::kContinue;
       ++number) {
    const double shift = common * random.Gauss();
    visit(baseline, baseline_stop, number, 1, shift);
    if (own_stop == StopState::kContinue) visit(own, own_stop, number, own_median, shift);
  }
  v1::BaselineComparison comparison;
  Compare("baseline", baseline, own, 0.01, &comparison);
  return comparison;
}

struct PairOutcome {
  std::map<std::string, int> verdicts;
  int covered = 0;
};

PairOutcome SimulatePairs(const Noise& noise, double ratio, double own_median, std::uint64_t seed) {
  Random random(seed);
  const double level = LevelFor(noise, ratio);
  const Cell cell(noise, level);
  PairOutcome outcome;
  for (int run = 0; run < kRuns; ++run) {
    const auto comparison = RunPair(cell, own_median, ratio / level, random);
    ++outcome.verdicts[comparison.verdict()];
    const double truth = 1 / own_median;
    outcome.covered += comparison.low() <= truth && truth <= comparison.high() ? 1 : 0;
  }
  return outcome;
}

class Pairs : public testing::TestWithParam<Case> {};

// The same implementation twice, at round noise of 0.3 to 3 % and as much again that both share.
TEST_P(Pairs, TheSameTwiceIsNeverFasterOrSlower) {
  for (const double ratio : {0.003, 0.01, 0.03}) {
    PairOutcome outcome = SimulatePairs(GetParam().noise, ratio, 1, 1);
    const int wrong = outcome.verdicts["faster"] + outcome.verdicts["slower"];
    EXPECT_LE(wrong, 0.01 * kRuns) << ratio;
    EXPECT_GE(outcome.covered, 0.95 * kRuns) << ratio;
    RecordProperty("wrong_" + std::to_string(ratio).substr(0, 5), wrong);
    RecordProperty("covered_" + std::to_string(ratio).substr(0, 5), outcome.covered);
  }
}

TEST_P(Pairs, TwoPercentAreFound) {
  PairOutcome outcome = SimulatePairs(GetParam().noise, 0.003, 1.02, 1);
  EXPECT_GE(outcome.verdicts["slower"], 0.95 * kRuns);
  EXPECT_EQ(outcome.verdicts["faster"], 0);
  RecordProperty("found", outcome.verdicts["slower"]);
}
INSTANTIATE_TEST_SUITE_P(Noise, Pairs,
                         testing::Values(Cases()[0], Cases()[1], Cases()[5], Cases()[8]), NameOf);

}  // namespace
}  // namespace kbench::experiment
