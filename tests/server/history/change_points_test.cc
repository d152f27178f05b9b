#include "server/history/change_points.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/server/history/timeline.h"

namespace kbench::history {
namespace {

// `level` of each result, in turn.
std::vector<v1::HistoryPoint> History(const std::vector<double>& levels,
                                      const NoiseModel& noise = NoiseModels()[1],
                                      std::uint64_t seed = 1) {
  Timeline timeline(noise, seed);
  std::vector<v1::HistoryPoint> points;
  for (const double level : levels) points.push_back(timeline.Next(1e-3 * level));
  return points;
}

std::vector<double> Levels(std::initializer_list<std::pair<int, double>> stretches) {
  std::vector<double> levels;
  for (const auto& [count, level] : stretches) levels.insert(levels.end(), count, level);
  return levels;
}

int IndexOf(const std::vector<v1::HistoryPoint>& points, const std::string& result) {
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (points[i].result() == result) return static_cast<int>(i);
  }
  return -1;
}

TEST(ChangePoints, NoneInNothing) {
  EXPECT_TRUE(ChangePoints({}).empty());
  EXPECT_TRUE(ChangePoints(History(Levels({{9, 1.0}}))).empty());
  std::vector<v1::HistoryPoint> equal(100, MakePoint("results/x", 1, 1e-3));
  EXPECT_TRUE(ChangePoints(equal).empty()) << "all of them tied";
}

TEST(ChangePoints, FivePercentAreDatedWithinTwoResults) {
  for (const NoiseModel& noise : NoiseModels()) {
    if (noise.session_ratio > 0.005 || noise.sessions == NoiseModel::Sessions::kModes) continue;
    for (int seed = 1; seed <= 20; ++seed) {
      const int at = 10 + 7 * seed;
      const auto points =
          History(Levels({{at, 1.0}, {40, 1.05}}), noise, static_cast<std::uint64_t>(seed));
      const auto changes = ChangePoints(points);
      const auto found = std::find_if(changes.begin(), changes.end(), [&](const auto& change) {
        return std::abs(IndexOf(points, change.result()) - at) <= 2;
      });
      ASSERT_NE(found, changes.end()) << noise.name << " " << seed;
      EXPECT_NEAR(found->ratio(), 1.05, 0.02) << noise.name << " " << seed;
      EXPECT_LE(found->p_value(), 0.01);
      EXPECT_GT(found->p_value(), 0);
      EXPECT_EQ(
          found->time().seconds(),
          points[static_cast<std::size_t>(IndexOf(points, found->result()))].time().seconds());
      EXPECT_FALSE(found->new_epoch());
    }
  }
}

TEST(ChangePoints, SixResultsBehindAStepAreEnough) {
  const auto points = History(Levels({{60, 1.0}, {6, 1.05}}));
  const auto changes = ChangePoints(points);
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_NEAR(IndexOf(points, changes[0].result()), 60, 2);
}

TEST(ChangePoints, AStepThatWasTakenBackIsTwo) {
  for (const int length : {20, 40, 80}) {
    const auto points =
        History(Levels({{400, 1.0}, {length, 1.05}, {400, 1.0}}), NoiseModels()[1], 5);
    const auto changes = ChangePoints(points);
    ASSERT_EQ(changes.size(), 2u) << length;
    EXPECT_NEAR(IndexOf(points, changes[0].result()), 400, 2);
    EXPECT_NEAR(IndexOf(points, changes[1].result()), 400 + length, 2);
    EXPECT_NEAR(changes[1].ratio(), 1 / 1.05, 0.01);
  }
}

TEST(ChangePoints, OfTheSameAreRare) {
  int found = 0;
  int histories = 0;
  for (const NoiseModel& noise : NoiseModels()) {
    // What wanders has levels, for a while.
    if (noise.sessions == NoiseModel::Sessions::kWander) continue;
    for (int seed = 1; seed <= 15; ++seed) {
      ++histories;
      found += static_cast<int>(
          ChangePoints(History(Levels({{200, 1.0}}), noise, static_cast<std::uint64_t>(seed)))
              .size());
    }
  }
  EXPECT_LE(found, 0.05 * histories);
  RecordProperty("histories", histories);
  RecordProperty("found", found);
}

TEST(ChangePoints, SingleOutliersAndResultsNotValidAreNone) {
  auto points = History(Levels({{200, 1.0}}), NoiseModels()[1], 4);
  for (std::size_t i = 10; i < points.size(); i += 30) points[i].set_seconds(3e-3);
  for (std::size_t i = 100; i < 140; ++i) {
    v1::HistoryPoint bad = points[i];
    bad.set_seconds(9e-3);
    bad.set_verdict("SUSPECT");
    points.insert(points.begin() + static_cast<std::ptrdiff_t>(i), bad);
  }
  EXPECT_TRUE(ChangePoints(points).empty());
}

TEST(ChangePoints, LessThanOnePercentIsNoChangeWorthTelling) {
  EXPECT_TRUE(ChangePoints(History(Levels({{200, 1.0}, {200, 1.005}}), NoiseModels()[0])).empty());
  EXPECT_EQ(ChangePoints(History(Levels({{200, 1.0}, {200, 1.005}}), NoiseModels()[0]),
                         {.least_ratio = 0.003})
                .size(),
            1u);
}

TEST(ChangePoints, StandWhereTheEnvironmentChanged) {
  auto points = History(Levels({{50, 1.0}, {50, 1.05}}), NoiseModels()[1], 2);
  for (std::size_t i = 50; i < points.size(); ++i) points[i].set_epoch("e2");
  // Right at the edge one result of each side looks like the other side's.
  std::swap(*points[49].mutable_result(), *points[50].mutable_result());
  points[50].set_seconds(1.0e-3);
  const auto changes = ChangePoints(points);
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_TRUE(changes[0].new_epoch());
  EXPECT_EQ(IndexOf(points, changes[0].result()), 50);
  // An epoch that changes no time is no change point.
  auto same = History(Levels({{100, 1.0}}), NoiseModels()[1], 3);
  for (std::size_t i = 50; i < same.size(); ++i) same[i].set_epoch("e2");
  EXPECT_TRUE(ChangePoints(same).empty());
}

TEST(ChangePoints, AreTheSameEachTime) {
  const auto points = History(Levels({{100, 1.0}, {100, 1.03}, {100, 0.98}}));
  const auto once = ChangePoints(points);
  const auto again = ChangePoints(points);
  ASSERT_EQ(once.size(), again.size());
  for (std::size_t i = 0; i < once.size(); ++i) {
    EXPECT_EQ(once[i].SerializeAsString(), again[i].SerializeAsString());
  }
}

TEST(ChangePoints, OfFiveThousandResults) {
  std::vector<double> levels;
  for (int i = 0; i < 5000; ++i) levels.push_back(1 + 0.05 * (i / 250 % 2) + 0.1 * (i / 2500));
  const auto points = History(levels);
  const auto changes = ChangePoints(points);
  ASSERT_EQ(changes.size(), 19u);
  for (std::size_t i = 0; i < changes.size(); ++i) {
    EXPECT_NEAR(IndexOf(points, changes[i].result()), 250 * static_cast<int>(i + 1), 2);
  }
}

TEST(ChangePoints, LevelsAreParted) {
  const auto points = History(Levels({{20, 1.0}, {20, 1.1}, {20, 1.3}}));
  const auto first = LevelOf(points, Level::kFirst);
  EXPECT_NEAR(static_cast<double>(first.size()), 20, 2);
  EXPECT_EQ(first.front().result(), points.front().result());
  const auto last = LevelOf(points, Level::kLast);
  EXPECT_NEAR(static_cast<double>(last.size()), 20, 2);
  EXPECT_EQ(last.back().result(), points.back().result());
  const auto one = History(Levels({{9, 1.0}}));
  EXPECT_EQ(LevelOf(one, Level::kFirst).size(), 9u);
  EXPECT_EQ(LevelOf(one, Level::kLast).size(), 9u);
  EXPECT_TRUE(LevelOf({}, Level::kLast).empty());
}

}  // namespace
}  // namespace kbench::history
