#include "server/history/gates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "server/history/baseline.h"
#include "server/history/noise.h"
#include "server/history/words.h"
#include "tests/server/history/timeline.h"

namespace kbench::history {
namespace {

using ::testing::HasSubstr;

// Results at `seconds` times these; their median is 1, their scale 0.2 % or so.
constexpr double kLevel[] = {1.000, 1.002, 0.998, 1.001, 0.999, 1.003, 0.997};

std::vector<v1::HistoryPoint> Level(double seconds, int count) {
  std::vector<v1::HistoryPoint> points;
  for (int i = 0; i < count; ++i) {
    points.push_back(MakePoint("results/r" + std::to_string(i), 1000 + i,
                               seconds * kLevel[static_cast<std::size_t>(i) % 7]));
  }
  return points;
}

Noise Known(double ratio, int results = 30) {
  Noise noise;
  noise.ratio = ratio;
  noise.results = results;
  noise.degrees = 0.82 * (results - 1);
  return noise;
}

v1::Baseline At(double seconds, int results = 20) {
  v1::Baseline baseline;
  baseline.set_origin("learned");
  baseline.set_seconds(seconds);
  baseline.set_results(results);
  baseline.set_epoch("e1");
  return baseline;
}

GateReading Read(double seconds, const v1::Baseline& baseline, const Noise& noise,
                 GateOptions options = {}) {
  const v1::HistoryPoint point = MakePoint("results/new", 5000, seconds);
  return ReadGates({&point, 1}, baseline, noise, options);
}

TEST(Noise, IsThePriorWhileThereAreFew) {
  const Noise none = NoiseOf({}, {});
  EXPECT_EQ(none.ratio, 0.003) << "stats' prior";
  EXPECT_TRUE(none.prior);
  EXPECT_EQ(none.results, 0);
  const Noise few = NoiseOf(Level(1e-3, 7), {.between_session_ratio = 0.01});
  EXPECT_EQ(few.ratio, 0.01);
  EXPECT_TRUE(few.prior);
  EXPECT_EQ(NoiseOf(Level(1e-3, 7), {.between_session_ratio = 0.004, .known_ratio = 0.02}).ratio,
            0.02)
      << "what the cell was known for";
  const Noise own = NoiseOf(Level(1e-3, 20), {.between_session_ratio = 0.01, .known_ratio = 0.02});
  EXPECT_FALSE(own.prior);
  EXPECT_NEAR(own.ratio, 0.0021, 0.0006);
}

TEST(Noise, OwnNoiseAboveThePriorCountsFromTheFirstResults) {
  std::vector<v1::HistoryPoint> points = Level(1e-3, 5);
  for (std::size_t i = 0; i < points.size(); ++i) {
    points[i].set_seconds(1e-3 * (1 + 0.05 * static_cast<double>(i)));
  }
  const Noise noise = NoiseOf(points, {});
  EXPECT_FALSE(noise.prior);
  EXPECT_GT(noise.ratio, 0.05);
  EXPECT_LT(noise.degrees, 4);
  const Noise moderated = NoiseOf(points, {.between_session_ratio = 0.05});
  EXPECT_FALSE(moderated.prior);
  EXPECT_GT(moderated.ratio, 0.05);
  EXPECT_LT(moderated.ratio, noise.ratio) << "drawn towards the prior";
  EXPECT_GT(moderated.degrees, 9);
}

TEST(Noise, ADriftIsNone) {
  std::vector<v1::HistoryPoint> points = Level(1e-3, 50);
  for (std::size_t i = 0; i < points.size(); ++i) {
    points[i].set_seconds(points[i].seconds() * (1 + 0.002 * static_cast<double>(i)));
  }
  const Noise noise = NoiseOf(points, {});
  EXPECT_LT(noise.ratio, 0.005);
  EXPECT_LT(noise.tail_ratio, 0.008);
}

TEST(Noise, TheIntervalsOfTheResultsAreAPrior) {
  std::vector<v1::HistoryPoint> points = Level(1e-3, 5);
  for (auto& point : points) {
    point.set_low(point.seconds() * 0.98);
    point.set_high(point.seconds() * 1.02);
  }
  EXPECT_NEAR(NoiseOf(points, {}).ratio, 0.02 / 1.96, 1e-4);
}

TEST(Noise, TheSlowTailShowsWhatComesByItself) {
  std::vector<v1::HistoryPoint> points = Level(1e-3, 40);
  EXPECT_LT(NoiseOf(points, {}).tail_ratio, 0.004);
  for (std::size_t i = 0; i < points.size(); i += 5) points[i].set_seconds(1.04e-3);
  const Noise modes = NoiseOf(points, {});
  EXPECT_LT(modes.ratio, 0.005);
  EXPECT_NEAR(modes.tail_ratio, 0.04, 0.003);
  points = Level(1e-3, 40);
  points[20].set_seconds(2e-3);
  EXPECT_LT(NoiseOf(points, {}).tail_ratio, 0.004) << "one outlier is no tail";
}

TEST(Baseline, NeedsFiveAndStandsStillAfterTwenty) {
  EXPECT_FALSE(LearnedBaseline(Level(1e-3, 4), Known(0.003)).has_value());
  const auto five = LearnedBaseline(Level(1e-3, 5), Known(0.003));
  ASSERT_TRUE(five.has_value());
  EXPECT_EQ(five->origin(), "learned");
  EXPECT_EQ(five->results(), 5);
  EXPECT_DOUBLE_EQ(five->seconds(), 1e-3);
  EXPECT_EQ(five->result(), "results/r0") << "the one nearest to it";
  EXPECT_EQ(five->since().seconds(), 1000);
  EXPECT_EQ(five->epoch(), "e1");
  EXPECT_LT(five->low(), 1e-3);
  EXPECT_GT(five->high(), 1e-3);
  std::vector<v1::HistoryPoint> more = Level(1e-3, 100);
  for (std::size_t i = 20; i < more.size(); ++i) more[i].set_seconds(2e-3);
  const auto settled = LearnedBaseline(more, Known(0.003));
  EXPECT_EQ(settled->results(), 20);
  EXPECT_NEAR(settled->seconds(), 1e-3, 1e-6);
  EXPECT_LT(settled->high() - settled->low(), five->high() - five->low());
}

TEST(Baseline, AnOutlierMovesNothing) {
  std::vector<v1::HistoryPoint> points = Level(1e-3, 5);
  points[4].set_seconds(1);
  EXPECT_NEAR(LearnedBaseline(points, Known(0.003))->seconds(), 1e-3, 2e-6);
}

TEST(Baseline, PinnedIsOneResult) {
  google::protobuf::Timestamp now;
  now.set_seconds(9);
  const v1::Baseline pinned =
      PinnedBaseline(MakePoint("results/x", 5, 1e-3, "e7"), "anna", now, Known(0.01));
  EXPECT_TRUE(IsPinned(pinned));
  EXPECT_EQ(pinned.by(), "anna");
  EXPECT_EQ(pinned.result(), "results/x");
  EXPECT_EQ(pinned.since().seconds(), 9);
  EXPECT_EQ(pinned.epoch(), "e7");
  EXPECT_NEAR(pinned.high() / pinned.seconds(), 1 + 1.96 * 0.01, 1e-3);
}

TEST(Gates, ValidityComesFirstThenEnvironment) {
  v1::HistoryPoint point = MakePoint("results/new", 5000, 2e-3, "e2");
  point.set_verdict("SUSPECT");
  GateReading reading = ReadGates({&point, 1}, At(1e-3), Known(0.003), {});
  EXPECT_FALSE(reading.valid);
  EXPECT_FALSE(reading.AllPassed());
  EXPECT_EQ(reading.change, 0);
  point.set_verdict("VALID");
  reading = ReadGates({&point, 1}, At(1e-3), Known(0.003), {});
  EXPECT_TRUE(reading.valid);
  EXPECT_FALSE(reading.same_environment);
  EXPECT_FALSE(reading.AllPassed());
  EXPECT_EQ(reading.change, 0);
  EXPECT_THAT(reading.sentence, HasSubstr("another environment"));
  point.set_epoch("e1");
  EXPECT_TRUE(ReadGates({&point, 1}, At(1e-3), Known(0.003), {}).Slower());
}

TEST(Gates, RelativeIsTwoPercentOrTheCellsOwnNoise) {
  EXPECT_FALSE(Read(1.019e-3, At(1e-3), Known(0.001)).relative);
  EXPECT_TRUE(Read(1.021e-3, At(1e-3), Known(0.001)).Slower());
  const GateReading noisy = Read(1.035e-3, At(1e-3), Known(0.01));
  EXPECT_NEAR(noisy.relative_gate, 0.04 * std::sqrt(1 + 1.5708 / 20), 1e-5);
  EXPECT_FALSE(noisy.relative);
  EXPECT_TRUE(Read(1.05e-3, At(1e-3), Known(0.01)).Slower());
  Noise tail = Known(0.001);
  tail.tail_ratio = 0.04;
  EXPECT_FALSE(Read(1.049e-3, At(1e-3), tail).relative);
  EXPECT_TRUE(Read(1.051e-3, At(1e-3), tail).Slower());
}

TEST(Gates, AbsoluteIsTheStepOfTheClock) {
  const GateReading small = Read(1.04e-6, At(1e-6), Known(0.001));
  EXPECT_TRUE(small.relative);
  EXPECT_FALSE(small.absolute) << "40 ns";
  EXPECT_FALSE(small.Slower());
  EXPECT_TRUE(Read(1.06e-6, At(1e-6), Known(0.001)).Slower());
  EXPECT_FALSE(Read(1.06e-6, At(1e-6), Known(0.001), {.clock_step_seconds = 32e-9}).absolute);
}

TEST(Gates, StatisticalCountsHowFewTheNoiseRestsOn) {
  // Five standard deviations of a noise that five results tell are no proof.
  const GateReading few = Read(1.06e-3, At(1e-3, 5), Known(0.01, 5));
  EXPECT_TRUE(few.relative);
  EXPECT_FALSE(few.statistical);
  EXPECT_TRUE(Read(1.06e-3, At(1e-3), Known(0.01, 30)).Slower());
  // Without any noise every change is one, and equality is none.
  EXPECT_TRUE(Read(1.03e-3, At(1e-3), Known(0)).Slower());
  EXPECT_EQ(Read(1e-3, At(1e-3), Known(0)).chance, 1);
}

TEST(Gates, FasterIsTheMirror) {
  const GateReading faster = Read(0.95e-3, At(1e-3), Known(0.003));
  EXPECT_TRUE(faster.Faster());
  EXPECT_FALSE(faster.Slower());
  EXPECT_LT(faster.high, 0);
}

TEST(Gates, SeveralAreSharperThanOne) {
  const std::vector<v1::HistoryPoint> three = {MakePoint("results/a", 1, 1.03e-3),
                                               MakePoint("results/b", 2, 1.031e-3),
                                               MakePoint("results/c", 3, 1.2e-3)};
  const GateReading together = ReadGates(three, At(1e-3), Known(0.008), {});
  EXPECT_NEAR(together.change, 0.031, 1e-9) << "their median";
  EXPECT_TRUE(together.Slower());
  EXPECT_FALSE(Read(1.031e-3, At(1e-3), Known(0.008)).Slower());
}

TEST(Gates, ThePinnedOnesOwnSessionCountsTwice) {
  v1::Baseline pinned = At(1e-3, 1);
  pinned.set_origin("pinned");
  EXPECT_FALSE(Read(1.05e-3, pinned, Known(0.01)).relative) << "4 x 1 % x sqrt(2) = 5.7 %";
  EXPECT_TRUE(Read(1.06e-3, pinned, Known(0.01)).Slower());
}

TEST(Gates, TheSentenceSaysWhatEachSaw) {
  EXPECT_EQ(
      Read(1.051e-3, At(1e-3), Known(0.0031)).sentence.substr(0, 110),
      "5.1 % slower: 1.051 ms against 1 ms (median of 20); noise 0.31 % of 30 results; gates: "
      "2.0 % passed, 50 ns pas");
  EXPECT_THAT(Read(1.001e-3, At(1e-3), Known(0.0031)).sentence, HasSubstr("2.0 % not passed"));
}

TEST(Words, Figures) {
  EXPECT_EQ(SecondsText(1.0514e-3), "1.051 ms");
  EXPECT_EQ(SecondsText(50e-9), "50 ns");
  EXPECT_EQ(SecondsText(2), "2 s");
  EXPECT_EQ(PercentText(0.0031), "0.31 %");
  EXPECT_EQ(PercentText(0.021), "2.1 %");
  EXPECT_EQ(SignedText(0.0613), "+6.1 %");
  EXPECT_EQ(SignedText(-0.0001), "+0.0 %");
  EXPECT_EQ(ChangeText(-0.05), "5.0 % faster");
}

}  // namespace
}  // namespace kbench::history
