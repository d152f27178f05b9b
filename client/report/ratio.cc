#include "client/report/ratio.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "client/output/units.h"
#include "stats/paired_ratio.h"

namespace kbench::client {
namespace {

using kbench::v1::Result;
using kbench::v1::TimeDistribution;

bool HasInterval(const TimeDistribution& time) { return time.low() > 0 && time.high() > 0; }

Ratio FromEnds(double own, double own_low, double own_high, double other, double other_low,
               double other_high) {
  Ratio ratio;
  if (!(own > 0) || !(other > 0)) return ratio;
  ratio.how = Ratio::How::kApart;
  ratio.value = other / own;
  if (own_low > 0 && own_high > 0 && other_low > 0 && other_high > 0) {
    ratio.low = other_low / own_high;
    ratio.high = other_high / own_low;
  }
  return ratio;
}

bool OneAttempt(const Result& a, const Result& b) {
  return !a.job().empty() && a.job() == b.job() && a.case_index() == b.case_index() &&
         a.attempt() == b.attempt();
}

Ratio ByRound(const TimeDistribution& own, const TimeDistribution& other) {
  const auto numbers = [](const TimeDistribution& time) {
    const int known = std::min(time.round_numbers_size(), time.round_medians_size());
    return std::span<const int>(time.round_numbers().data(), static_cast<std::size_t>(known));
  };
  std::vector<double> left;
  std::vector<double> right;
  for (const auto& [i, j] : stats::CommonRounds(numbers(own), numbers(other))) {
    left.push_back(own.round_medians(static_cast<int>(i)));
    right.push_back(other.round_medians(static_cast<int>(j)));
  }
  const std::vector<double> logs = stats::LogRatios(right, left);
  if (logs.empty()) return {};
  const stats::Interval interval = stats::RatioOf(logs);
  return {interval.centre, interval.low, interval.high, Ratio::How::kByRound};
}

// Enough digits for the ends of an interval to differ.
std::string Factor(double factor) {
  if (factor >= 99.95) return fmt::format("{:.0f}", factor);
  if (factor >= 9.995) return fmt::format("{:.1f}", factor);
  return factor >= 0.0995 ? fmt::format("{:.3f}", factor) : fmt::format("{:#.3g}", factor);
}

}  // namespace

Ratio SpeedOf(const Result& own, const Result& other) {
  const TimeDistribution& a = own.device_time();
  const TimeDistribution& b = other.device_time();
  if (OneAttempt(own, other)) {
    if (const Ratio paired = ByRound(a, b); paired.known()) return paired;
  }
  const bool sessions = own.job() != other.job() && a.history_low() > 0 && b.history_low() > 0;
  if (!sessions) return SpeedOf(a, b);
  return FromEnds(a.median(), a.history_low(), a.history_high(), b.median(), b.history_low(),
                  b.history_high());
}

Ratio SpeedOf(const TimeDistribution& own, const TimeDistribution& other) {
  return FromEnds(own.median(), own.low(), own.high(), other.median(), other.low(), other.high());
}

Difference DifferenceOf(const TimeDistribution& own, const TimeDistribution& other) {
  Difference difference;
  if (!(own.median() > 0) || !(other.median() > 0)) return difference;
  difference.known = true;
  difference.value = own.median() - other.median();
  if (HasInterval(own) && HasInterval(other)) {
    difference.low = own.low() - other.high();
    difference.high = own.high() - other.low();
  }
  return difference;
}

TimeDistribution EndToEndOf(const Result& result) {
  if (result.end_to_end_time().median() > 0) return result.end_to_end_time();
  TimeDistribution alone;
  alone.set_median(result.end_to_end_seconds());
  return alone;
}

std::string RatioText(const Ratio& ratio) {
  if (!ratio.known()) return "-";
  if (!ratio.sure()) return Factor(ratio.value) + "x";
  return fmt::format("{}x [{}, {}]", Factor(ratio.value), Factor(ratio.low), Factor(ratio.high));
}

std::string DifferenceText(const Difference& difference) {
  if (!difference.known) return "-";
  const bool micros = std::abs(difference.value) < 1e-3;
  const double scale = micros ? 1e6 : 1e3;
  std::string text = fmt::format("{:+.2f} {}", scale * difference.value, micros ? "us" : "ms");
  if (!difference.sure()) return text;
  return fmt::format("{} [{:+.2f}, {:+.2f}]", text, scale * difference.low,
                     scale * difference.high);
}

std::string SecondsText(const TimeDistribution& time) {
  if (!(time.median() > 0)) return "-";
  std::string text = FormatSeconds(time.median());
  if (!HasInterval(time)) return text;
  const double percent = 100 * (time.high() - time.low()) / 2 / time.median();
  return fmt::format("{} +-{:.{}f}%", text, percent, percent < 1 ? 2 : 1);
}

}  // namespace kbench::client
