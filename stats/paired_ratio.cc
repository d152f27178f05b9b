#include "stats/paired_ratio.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "stats/summary.h"

namespace kbench::stats {
namespace {

bool Usable(double value) { return std::isfinite(value) && value > 0; }

}  // namespace

std::vector<std::pair<std::size_t, std::size_t>> CommonRounds(std::span<const int> a,
                                                              std::span<const int> b) {
  std::map<int, std::size_t> places;
  for (std::size_t i = 0; i < b.size(); ++i) places[b[i]] = i;
  std::vector<std::pair<std::size_t, std::size_t>> common;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto place = places.find(a[i]);
    if (place != places.end()) common.emplace_back(i, place->second);
  }
  return common;
}

std::vector<double> LogRatios(std::span<const double> a, std::span<const double> b) {
  std::vector<double> logs;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (Usable(a[i]) && Usable(b[i])) logs.push_back(std::log(a[i] / b[i]));
  }
  return logs;
}

Interval RatioOf(std::span<const double> log_ratios) {
  Interval ratio;
  ratio.centre = std::exp(Median(log_ratios));
  if (const auto interval = MedianInterval(log_ratios, kPairedAlpha)) {
    ratio.low = std::exp(interval->low);
    ratio.high = std::exp(interval->high);
  }
  return ratio;
}

}  // namespace kbench::stats
