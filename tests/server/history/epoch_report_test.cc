#include "server/history/epoch_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "server/history/device_epochs.h"
#include "server/history/environment.h"
#include "tests/server/history/timeline.h"

namespace kbench::history {
namespace {

// One session with eight rounds.
v1::Result Measured(const std::string& name, double seconds, Random& random) {
  v1::Result result;
  result.set_name("results/" + name);
  result.set_job("jobs/" + name);
  result.mutable_case_()->set_kernel("sum");
  result.set_outcome(v1::OUTCOME_OK);
  result.set_verdict(v1::VERDICT_VALID);
  const double session = seconds * (1 + 0.003 * random.Gauss());
  std::vector<double> rounds;
  for (int number = 0; number < 8; ++number) {
    rounds.push_back(session * (1 + 0.002 * random.Gauss()));
    result.mutable_device_time()->add_round_medians(rounds.back());
    result.mutable_device_time()->add_round_numbers(number);
  }
  result.mutable_device_time()->set_median((rounds[3] + rounds[4]) / 2);
  return result;
}

EpochCell Cell(const std::string& name, double before, double after, int results, Random& random) {
  EpochCell cell;
  cell.cell.set_kernel(name);
  for (int i = 0; i < results; ++i) {
    cell.before.push_back(Measured(name + "-b" + std::to_string(i), before, random));
    cell.after.push_back(Measured(name + "-a" + std::to_string(i), after, random));
    cell.after.back().mutable_environment()->set_driver("590.2");
  }
  return cell;
}

v1::EpochReport Report(const std::vector<EpochCell>& cells, double margin = 0) {
  return CompareEpochs("gpu0", MakeEpoch("e1", "580.1"), MakeEpoch("e2", "590.2"), cells,
                       {.margin_ratio = margin});
}

TEST(CompareEpochs, WhatChangedStandsFirst) {
  for (const int results : {1, 3, 6}) {
    Random random(1);
    std::vector<EpochCell> cells;
    for (int i = 0; i < 20; ++i) {
      cells.push_back(Cell("same" + std::to_string(i), 1e-3, 1e-3, results, random));
    }
    cells.push_back(Cell("slower", 1e-3, 1.1e-3, results, random));
    cells.push_back(Cell("faster", 1e-3, 0.8e-3, results, random));
    const v1::EpochReport report = Report(cells);
    ASSERT_EQ(report.rows_size(), 22) << results;
    EXPECT_EQ(report.rows(0).cell().kernel(), "faster");
    EXPECT_EQ(report.rows(0).verdict(), "faster") << results;
    EXPECT_NEAR(report.rows(0).ratio(), 0.8, 0.01);
    EXPECT_LT(report.rows(0).low(), report.rows(0).ratio());
    EXPECT_GT(report.rows(0).high(), report.rows(0).ratio());
    EXPECT_EQ(report.rows(1).verdict(), "slower") << results;
    EXPECT_NEAR(report.rows(1).before_seconds(), 1e-3, 0.01e-3);
    EXPECT_NEAR(report.rows(1).after_seconds(), 1.1e-3, 0.01e-3);
    for (int i = 2; i < 22; ++i) {
      EXPECT_NE(report.rows(i).verdict(), "slower") << results;
      EXPECT_NE(report.rows(i).verdict(), "faster") << results;
    }
    EXPECT_NEAR(report.geometric_mean(), std::pow(1.1 * 0.8, 1.0 / 22), 0.002);
    EXPECT_EQ(report.before().id(), "e1");
    EXPECT_EQ(report.after().id(), "e2");
    EXPECT_EQ(report.device(), "gpu0");
  }
}

TEST(CompareEpochs, CellsOfOneSideAreCounted) {
  Random random(2);
  std::vector<EpochCell> cells(4, Cell("x", 1e-3, 1e-3, 2, random));
  cells[0].after.clear();
  cells[1].before.clear();
  cells[2].after[0].set_verdict(v1::VERDICT_SUSPECT);
  cells[2].after[1].set_outcome(v1::OUTCOME_CRASHED);
  const v1::EpochReport report = Report(cells);
  EXPECT_EQ(report.rows_size(), 1);
  EXPECT_EQ(report.only_before(), 2);
  EXPECT_EQ(report.only_after(), 1);
  const v1::EpochReport empty = Report({});
  EXPECT_EQ(empty.rows_size(), 0);
  EXPECT_EQ(empty.geometric_mean(), 0);
}

TEST(CompareEpochs, TheTimesOfARowAreThoseThatWereCompared) {
  Random random(3);
  EpochCell cell = Cell("few", 1e-3, 1e-3, 2, random);  // fewer than four: one result of each side
  const double seconds[] = {100e-6, 104e-6};
  for (int i = 0; i < 2; ++i) {
    for (auto* side : {&cell.before, &cell.after}) {
      auto& time = *(*side)[static_cast<std::size_t>(i)].mutable_device_time();
      time.set_median(seconds[i]);
      for (double& round : *time.mutable_round_medians()) round = seconds[i];
    }
  }
  const v1::EpochReport report = Report({cell});
  ASSERT_EQ(report.rows_size(), 1);
  EXPECT_EQ(report.rows(0).before_seconds(), 100e-6);
  EXPECT_EQ(report.rows(0).after_seconds(), 100e-6);
  EXPECT_NEAR(report.rows(0).ratio(), 1, 1e-9);
}

TEST(CompareEpochs, TheFamilyIsBoundedTogether) {
  // Forty suites of forty cells that did not change, with next to no margin: alone, the interval of
  // each misses 1 in a few of a hundred.
  int wrong = 0;
  int alone = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Random random(seed);
    std::vector<EpochCell> cells;
    for (int i = 0; i < 40; ++i) {
      cells.push_back(Cell("same" + std::to_string(i), 1e-3, 1e-3, 5, random));
    }
    const v1::EpochReport report = Report(cells, 1e-6);
    for (const v1::EpochRow& row : report.rows()) {
      wrong += row.verdict() == "slower" || row.verdict() == "faster" ? 1 : 0;
      alone += row.low() > 1 || row.high() < 1 ? 1 : 0;
    }
  }
  EXPECT_GT(alone, 20);
  EXPECT_LE(wrong, 4);
  RecordProperty("alone", alone);
  RecordProperty("wrong", wrong);
}

TEST(CompareEpochs, ANoisyCellSaysSo) {
  Random random(3);
  EpochCell cell = Cell("noisy", 1e-3, 1.03e-3, 1, random);
  EXPECT_EQ(Report({cell}).rows(0).verdict(), "slower");
  cell.noise_ratio = 0.02;
  EXPECT_EQ(Report({cell}).rows(0).verdict(), "inconclusive");
}

v1::Epoch Of(const std::string& id, std::int64_t since,
             const std::vector<std::pair<std::string, std::string>>& facts) {
  v1::Epoch epoch;
  epoch.set_id(id);
  epoch.mutable_since()->set_seconds(since);
  for (const auto& [name, value] : facts) (*epoch.mutable_environment())[name] = value;
  return epoch;
}

// A device with a C++ runner and one for torch, whose libraries have other versions.
std::vector<v1::Epoch> TwoRunners(const std::string& driver, const std::string& cuda,
                                  const std::string& torch, std::int64_t since) {
  return {Of("c" + driver + cuda, since,
             {{"driver", driver}, {"cuda-runtime", cuda}, {"mechanism", "cuda-events"}}),
          Of("p" + driver + torch, since + 1,
             {{"driver", driver},
              {"cuda-runtime", "12"},
              {"torch", torch},
              {kPythonEnvironment, "default"}})};
}

std::vector<v1::Epoch> Joined(const std::vector<std::vector<v1::Epoch>>& parts) {
  std::vector<v1::Epoch> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

TEST(DeviceEpochs, RunnersOfOtherLibrariesAreOneEpoch) {
  const auto epochs =
      DeviceEpochs(Joined({TwoRunners("1", "13", "2.1", 10), TwoRunners("1", "13", "2.1", 20)}));
  ASSERT_EQ(epochs.size(), 1u);
  EXPECT_EQ(epochs[0].epoch.since().seconds(), 10);
  EXPECT_EQ(epochs[0].epoch.changed(), "");
  EXPECT_EQ(epochs[0].epoch.environment().at("cuda-runtime"), "13");
  EXPECT_EQ(epochs[0].epoch.environment().at("cuda-runtime (default)"), "12");
  EXPECT_EQ(epochs[0].epoch.environment().at("driver"), "1");
  EXPECT_EQ(epochs[0].of_results.size(), 2u);
  EXPECT_TRUE(DeviceEpochs({}).empty());
}

TEST(DeviceEpochs, WhatChangedTogetherIsOneChange) {
  const auto epochs =
      DeviceEpochs(Joined({TwoRunners("1", "13", "2.1", 10), TwoRunners("2", "14", "2.2", 20),
                           TwoRunners("2", "14", "2.2", 30)}));
  ASSERT_EQ(epochs.size(), 2u);
  EXPECT_EQ(epochs[1].epoch.changed(),
            "cuda-runtime 13 -> 14; driver 1 -> 2; torch (default) 2.1 -> 2.2");
  EXPECT_EQ(epochs[1].epoch.since().seconds(), 20);
  EXPECT_NE(epochs[0].epoch.id(), epochs[1].epoch.id());
}

TEST(DeviceEpochs, ALibraryOfOneRunnerAloneBeginsOne) {
  auto all = Joined({TwoRunners("1", "13", "2.1", 10), TwoRunners("1", "13", "2.2", 20)});
  const auto epochs = DeviceEpochs(all);
  ASSERT_EQ(epochs.size(), 2u);
  EXPECT_EQ(epochs[1].epoch.changed(), "torch (default) 2.1 -> 2.2");
  EXPECT_EQ(epochs[1].epoch.since().seconds(), 21);
  // And what changes later still is another one.
  all = Joined({all, TwoRunners("1", "13", "2.2", 30), TwoRunners("1", "14", "2.2", 40)});
  EXPECT_EQ(DeviceEpochs(all).size(), 3u);
}

TEST(DeviceEpochs, AreFoundByTheirIdsAndThoseOfTheirResults) {
  const auto epochs =
      DeviceEpochs(Joined({TwoRunners("1", "13", "2.1", 10), TwoRunners("2", "13", "2.1", 20),
                           TwoRunners("1", "13", "2.1", 30)}));
  ASSERT_EQ(epochs.size(), 3u);
  EXPECT_EQ(epochs[0].epoch.id(), epochs[2].epoch.id()) << "back again";
  EXPECT_EQ(FindEpoch(epochs, epochs[0].epoch.id()), &epochs[2]) << "the latest";
  EXPECT_EQ(FindEpoch(epochs, "p22.1"), &epochs[1]);
  EXPECT_EQ(FindEpoch(epochs, "nonsense"), nullptr);
}

}  // namespace
}  // namespace kbench::history
