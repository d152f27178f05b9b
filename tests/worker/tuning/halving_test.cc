#include "worker/tuning/halving.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace kbench::tuning {
namespace {

// Times candidates that take `seconds[i]` with 1 % of noise; a negative one fails. Returns how many
// samples each got; each costs its own time, and no more than `limit` seconds are given.
std::map<std::size_t, int> RunAll(Halving& halving, const std::vector<double>& seconds,
                                  double cost = 0) {
  std::mt19937 random(7);
  std::normal_distribution<double> noise(1, 0.01);
  std::map<std::size_t, int> taken;
  double elapsed = 0;
  while (const auto trial = halving.Next(elapsed)) {
    std::vector<double> samples;
    for (int i = 0; i < trial->samples && seconds[trial->candidate] > 0; ++i) {
      samples.push_back(seconds[trial->candidate] * noise(random));
      elapsed += cost;
    }
    taken[trial->candidate] += trial->samples;
    halving.Report(samples);
  }
  return taken;
}

TEST(Halving, FindsTheFastestAndSpendsLittleOnTheSlow) {
  std::vector<double> seconds;
  for (int i = 0; i < 32; ++i) seconds.push_back(1 + 0.02 * ((i * 13 + 5) % 32));
  Halving halving(32, 10);
  const auto taken = RunAll(halving, seconds);
  ASSERT_TRUE(halving.Best());
  EXPECT_EQ(seconds[*halving.Best()], 1.0);
  EXPECT_EQ(halving.timed(), 32);
  int total = 0, slow = 0;
  for (const auto& [candidate, count] : taken) {
    total += count;
    if (seconds[candidate] > 1.5) slow = std::max(slow, count);
  }
  EXPECT_EQ(slow, 1);
  EXPECT_LT(total, 350);
  EXPECT_EQ(taken.at(*halving.Best()), 1 + 4 + 6 * 10);
}

TEST(Halving, IsDecidedOnlyWhenNothingIsLeftToTry) {
  Halving halving(3, 1);
  ASSERT_TRUE(halving.Next(0));
  halving.Report({2e-3});
  EXPECT_FALSE(halving.Next(1)) << "the time is over";
  EXPECT_TRUE(halving.Best());
  EXPECT_FALSE(halving.decided());
  Halving enough(1, 1);
  ASSERT_TRUE(enough.Next(0));
  enough.Report({2e-3});
  EXPECT_FALSE(enough.Next(0.1));
  EXPECT_TRUE(enough.decided());
}

TEST(Halving, OneThatIsFarBehindIsOutAtOnce) {
  Halving halving(2, 10);
  const auto taken = RunAll(halving, {2, 1});
  EXPECT_EQ(*halving.Best(), 1u);
  EXPECT_EQ(taken.at(0), 1);
}

TEST(Halving, TwoThatAreCloseAreBothTimedToTheEnd) {
  Halving halving(2, 10);
  const auto taken = RunAll(halving, {1.03, 1});
  EXPECT_EQ(*halving.Best(), 1u);
  EXPECT_EQ(taken.at(0), taken.at(1));
}

TEST(Halving, AmongEqualsTheBetterGuessWins) {
  Halving halving(3, 10);
  while (halving.Next(0)) halving.Report({1e-3});
  EXPECT_EQ(*halving.Best(), 0u);
}

TEST(Halving, TheBestGuessWinsOverOneThatIsHardlyFaster) {
  Halving halving(2, 10);
  while (const auto trial = halving.Next(0)) {
    halving.Report({trial->candidate == 0 ? 1.004e-3 : 1e-3});
  }
  EXPECT_EQ(*halving.Best(), 0u);
  Halving faster(2, 10);
  while (const auto trial = faster.Next(0)) {
    faster.Report({trial->candidate == 0 ? 1.006e-3 : 1e-3});
  }
  EXPECT_EQ(*faster.Best(), 1u);
}

// The first sample of the fastest is 10 % too slow, as on a clock that has just fallen.
TEST(Halving, OneSlowSampleLosesNobody) {
  Halving halving(4, 10);
  int trial = 0;
  while (const auto next = halving.Next(0)) {
    const double seconds = next->candidate == 3 ? 0.97 : 1 + 0.001 * next->candidate;
    halving.Report(std::vector<double>(next->samples, ++trial == 4 ? 1.1 * seconds : seconds));
  }
  EXPECT_EQ(*halving.Best(), 3u);
}

TEST(Halving, ADriftFavoursNobody) {
  Halving halving(2, 10);
  double clock = 1;
  while (const auto next = halving.Next(0)) {
    halving.Report(std::vector<double>(next->samples, clock * (next->candidate == 0 ? 1.01 : 1)));
    clock *= 1.004;
  }
  EXPECT_EQ(*halving.Best(), 1u);
  Halving turned(2, 10);
  clock = 1;
  while (const auto next = turned.Next(0)) {
    turned.Report(std::vector<double>(next->samples, clock * (next->candidate == 1 ? 1.01 : 1)));
    clock *= 1.004;
  }
  EXPECT_EQ(*turned.Best(), 0u);
}

TEST(Halving, OnesThatFailAreOut) {
  Halving halving(4, 10);
  const auto taken = RunAll(halving, {-1, 1.1, 1, -1});
  EXPECT_EQ(*halving.Best(), 2u);
  EXPECT_EQ(taken.at(0), 1);
  EXPECT_EQ(halving.timed(), 2);
}

TEST(Halving, OneThatFailsLateIsOutToo) {
  Halving halving(2, 10);
  int trials = 0;
  while (const auto trial = halving.Next(0)) {
    const bool fails = trial->candidate == 1 && ++trials > 1;
    halving.Report(fails ? std::vector<double>{}
                         : std::vector<double>{1.0 - 0.1 * trial->candidate});
  }
  EXPECT_EQ(*halving.Best(), 0u);
}

TEST(Halving, NothingToChooseFromIsNothing) {
  Halving none(0, 10);
  EXPECT_FALSE(none.Next(0));
  EXPECT_FALSE(none.Best());
  Halving failing(3, 10);
  RunAll(failing, {-1, -1, -1});
  EXPECT_FALSE(failing.Best());
  EXPECT_EQ(failing.timed(), 0);
}

TEST(Halving, WhenTheTimeIsOverTheFastestSoFarIsTheAnswer) {
  Halving halving(32, 1);
  std::vector<double> seconds(32, 1.0);
  seconds[2] = 0.9;
  seconds[20] = 0.5;  // its turn does not come
  const auto taken = RunAll(halving, seconds, 0.2);
  EXPECT_EQ(*halving.Best(), 2u);
  EXPECT_EQ(taken.size(), 5u);
  EXPECT_EQ(halving.timed(), 5);
}

}  // namespace
}  // namespace kbench::tuning
