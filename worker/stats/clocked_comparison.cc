#include "worker/stats/clocked_comparison.h"

#include <algorithm>
#include <cstddef>
#include <span>

namespace kbench::stats {
namespace {

// Of the rounds that have a median.
std::span<const int> NumbersOf(const RoundSeries& series) {
  return std::span(series.numbers).first(std::min(series.numbers.size(), series.medians.size()));
}

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
  const auto clock = [](const RoundSeries& series, std::size_t i) {
    return i < series.clocks.size() ? series.clocks[i] : 0;
  };
  RoundSeries left;
  RoundSeries right;
  for (const auto& [i, j] : CommonRounds(NumbersOf(a), NumbersOf(b))) {
    left.Add(a.numbers[i], a.medians[i], clock(a, i));
    right.Add(a.numbers[i], b.medians[j], clock(b, j));
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
