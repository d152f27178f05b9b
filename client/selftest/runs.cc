// The lines about pairs of the fixtures.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "client/output/units.h"
#include "client/selftest/checks.h"

namespace kbench::client::selftest {
namespace {

using kbench::v1::Result;

// Of verdicts on two that are the same; one of a short series is bad luck.
constexpr double kFalseShare = 0.01;
constexpr double kFoundShare = 0.95;
constexpr double kCoveredShare = 0.90;

State Holds(bool holds) { return holds ? State::kPass : State::kFail; }

int Count(const std::vector<PairRun>& runs, const std::string& verdict) {
  return static_cast<int>(std::count_if(runs.begin(), runs.end(), [&](const PairRun& run) {
    return run.measured && run.verdict == verdict;
  }));
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

Check Measured(const std::vector<PairRun>& same, const std::vector<PairRun>& slower) {
  const std::size_t total = same.size() + slower.size();
  const auto measured = [](const PairRun& run) { return run.measured; };
  const auto good = std::count_if(same.begin(), same.end(), measured) +
                    std::count_if(slower.begin(), slower.end(), measured);
  return {"pairs", Holds(static_cast<std::size_t>(good) == total),
          fmt::format("{} of {} gave a time for both fixtures", good, total)};
}

Check SameTwice(const std::vector<PairRun>& same) {
  const int wrong = Count(same, "faster") + Count(same, "slower");
  const int allowed = std::max(1, static_cast<int>(kFalseShare * static_cast<double>(same.size())));
  const bool few = same.size() < static_cast<std::size_t>(kFewPairs);
  std::string text = fmt::format(
      "{} of {} pairs of the same copy were called faster or slower (at most {}); "
      "{} equivalent, {} inconclusive",
      wrong, same.size(), allowed, Count(same, "equivalent"), Count(same, "inconclusive"));
  if (few) text += fmt::format("; too few pairs to tell ({} at least)", kFewPairs);
  return {"same twice",
          few && wrong <= allowed ? State::kNote : Holds(wrong <= allowed),
          text,
          {{"pairs", static_cast<double>(same.size())}, {"false", wrong}}};
}

Check TwoPercent(const std::vector<PairRun>& slower) {
  const int found = Count(slower, "slower");
  const int least = static_cast<int>(std::ceil(kFoundShare * static_cast<double>(slower.size())));
  std::vector<double> speedups;
  for (const PairRun& run : slower) {
    if (run.measured && run.speedup > 0) speedups.push_back(run.speedup);
  }
  const bool few = slower.size() < static_cast<std::size_t>(kFewPairs);
  std::string text =
      fmt::format("{} of {} copies with 2% more work were found slower (at least {})", found,
                  slower.size(), least);
  if (!speedups.empty()) text += "; typically at " + FormatFactor(Median(speedups));
  if (few) {
    text += fmt::format("; too few pairs to tell ({} at least)", kFewPairs);
  }
  return {"2% more work",
          few && found >= least ? State::kNote : Holds(found >= least),
          text,
          {{"pairs", static_cast<double>(slower.size())}, {"found", found}}};
}

struct Coverage {
  int runs = 0;
  int history = 0;
  int plain = 0;
  double grand = 0;
  double spread = 0;  // largest less smallest median, over the grand median
};

Coverage CoverageOf(const std::vector<PairRun>& same, const std::vector<PairRun>& slower) {
  std::vector<const Result*> results;
  std::vector<double> medians;
  for (const auto* runs : {&same, &slower}) {
    for (const PairRun& run : *runs) {
      if (!run.measured) continue;
      results.push_back(&run.first);
      medians.push_back(run.first.device_time().median());
    }
  }
  Coverage coverage;
  if (results.empty()) return coverage;
  coverage.runs = static_cast<int>(results.size());
  coverage.grand = Median(medians);
  const auto [least, most] = std::minmax_element(medians.begin(), medians.end());
  coverage.spread = (*most - *least) / coverage.grand;
  for (const Result* result : results) {
    const auto& time = result->device_time();
    coverage.history +=
        time.history_low() <= coverage.grand && coverage.grand <= time.history_high() ? 1 : 0;
    coverage.plain += time.low() <= coverage.grand && coverage.grand <= time.high() ? 1 : 0;
  }
  return coverage;
}

Check Covered(const Coverage& coverage) {
  const int least = static_cast<int>(std::ceil(kCoveredShare * coverage.runs));
  return {
      "coverage",
      Holds(coverage.runs > 0 && coverage.history >= least),
      fmt::format("{} of {} intervals for history hold the median of all runs (at least {}); of "
                  "those within a run {} do",
                  coverage.history, coverage.runs, least, coverage.plain),
      {{"runs", coverage.runs}, {"covered", coverage.history}}};
}

}  // namespace

std::vector<Check> RunChecks(const std::vector<PairRun>& same, const std::vector<PairRun>& slower) {
  const Coverage coverage = CoverageOf(same, slower);
  std::vector<Check> checks = {Measured(same, slower), SameTwice(same), TwoPercent(slower),
                               Covered(coverage)};
  if (coverage.runs > 0) {
    checks.push_back({"medians", State::kNote,
                      fmt::format("{} over {} runs, all within {}", FormatSeconds(coverage.grand),
                                  coverage.runs, FormatPercent(coverage.spread))});
  }
  return checks;
}

}  // namespace kbench::client::selftest
