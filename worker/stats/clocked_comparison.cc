#include "worker/stats/clocked_comparison.h"

#include <algorithm>
#include <cstddef>
#include <map>

namespace kbench::stats {
namespace {

bool ClocksKnown(const RoundSeries& series) {
  return series.clocks.size() == series.medians.size() &&
         std::all_of(series.clocks.begin(), series.clocks.end(),
                     [](double clock) { return clock > 0; });
}

std::vector<double> Cycles(const RoundSeries& series) {
  std::vector<double> cycles;
  for (std::size_t i = 0; i < series.medians.size(); ++i) {
    cycles.push_back(series.medians[i] * series.clocks[i]);
  }
  return cycles;
}

bool Disagree(ComparisonVerdict seconds, ComparisonVerdict cycles) {
  return seconds != ComparisonVerdict::kInconclusive &&
         cycles != ComparisonVerdict::kInconclusive && seconds != cycles;
}

template <typename CompareValues>
ClockedComparison InBothUnits(const RoundSeries& a, const RoundSeries& b,
                              const CompareValues& compare) {
  ClockedComparison both;
  both.seconds = compare(a.medians, b.medians);
  if (!ClocksKnown(a) || !ClocksKnown(b)) return both;
  const Comparison cycles = compare(Cycles(a), Cycles(b));
  both.cycles_ratio = cycles.ratio.centre;
  both.clock_confounded = Disagree(both.seconds.verdict, cycles.verdict);
  return both;
}

}  // namespace

void RoundSeries::Add(int number, double median, double clock) {
  numbers.push_back(number);
  medians.push_back(median);
  clocks.push_back(clock);
}

ClockedComparison CompareRounds(const RoundSeries& a, const RoundSeries& b, double margin) {
  std::map<int, std::size_t> places;
  for (std::size_t i = 0; i < std::min(b.numbers.size(), b.medians.size()); ++i) {
    places[b.numbers[i]] = i;
  }
  const auto clock = [](const RoundSeries& series, std::size_t i) {
    return i < series.clocks.size() ? series.clocks[i] : 0;
  };
  RoundSeries left;
  RoundSeries right;
  for (std::size_t i = 0; i < std::min(a.numbers.size(), a.medians.size()); ++i) {
    const auto pair = places.find(a.numbers[i]);
    if (pair == places.end()) continue;
    left.Add(a.numbers[i], a.medians[i], clock(a, i));
    right.Add(a.numbers[i], b.medians[pair->second], clock(b, pair->second));
  }
  return InBothUnits(left, right,
                     [&](const auto& x, const auto& y) { return ComparePaired(x, y, margin); });
}

ClockedComparison CompareSessions(const RoundSeries& a, const RoundSeries& b, double margin,
                                  double between_session_ratio) {
  return InBothUnits(a, b, [&](const auto& x, const auto& y) {
    return CompareUnpaired(x, y, margin, between_session_ratio);
  });
}

}  // namespace kbench::stats
