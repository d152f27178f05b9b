#include "server/history/gates.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "fmt/format.h"
#include "server/history/points.h"
#include "server/history/words.h"
#include "stats/summary.h"
#include "worker/stats/distributions.h"

namespace kbench::history {
namespace {

// Of a two-sided interval at 95 %, by bisection: tails of Student's t are known, quantiles are not.
double StudentQuantile(double degrees) {
  double low = 1.9;
  double high = 13;  // one degree: 12.71
  while (high - low > 1e-6) {
    const double middle = (low + high) / 2;
    (stats::StudentTwoSided(middle, degrees) > 0.05 ? low : high) = middle;
  }
  return high;
}

const char* Passed(bool passed) { return passed ? "passed" : "not passed"; }

std::string Sentence(const GateReading& reading, double seconds, int count,
                     const v1::Baseline& baseline, const Noise& noise, double most_chance) {
  const std::string subject = count == 1
                                  ? SecondsText(seconds)
                                  : fmt::format("{} (median of {})", SecondsText(seconds), count);
  const std::string object =
      baseline.origin() == "pinned"
          ? fmt::format("{} (pinned)", SecondsText(baseline.seconds()))
          : fmt::format("{} (median of {})", SecondsText(baseline.seconds()), baseline.results());
  return fmt::format("{}: {} against {}; noise {} {}; gates: {} {}, {} {}, chance {} {} ({:.1g})",
                     ChangeText(reading.change), subject, object, PercentText(noise.ratio),
                     noise.prior ? "by the device" : fmt::format("of {} results", noise.results),
                     PercentText(reading.relative_gate), Passed(reading.relative),
                     SecondsText(reading.absolute_gate_seconds), Passed(reading.absolute),
                     PercentText(most_chance), Passed(reading.statistical), reading.chance);
}

}  // namespace

GateReading ReadGates(std::span<const v1::HistoryPoint> newest, const v1::Baseline& baseline,
                      const Noise& noise, const GateOptions& options) {
  GateReading reading;
  reading.valid = std::all_of(newest.begin(), newest.end(), IsValid);
  if (!reading.valid) {
    reading.sentence = "not VALID, so it is compared with nothing";
    return reading;
  }
  reading.same_environment = std::all_of(newest.begin(), newest.end(), [&](const auto& point) {
    return point.epoch() == baseline.epoch();
  });
  if (!reading.same_environment) {
    reading.sentence = "measured in another environment than the baseline";
    return reading;
  }
  std::vector<double> seconds;
  for (const v1::HistoryPoint& point : newest) seconds.push_back(point.seconds());
  const double median = stats::Median(seconds);
  const int count = static_cast<int>(seconds.size());
  const double log_change = std::log(median / baseline.seconds());
  const double spread =
      noise.ratio * std::sqrt(MedianVariance(count) + MedianVariance(baseline.results()));
  const double width = spread > 0 ? StudentQuantile(noise.degrees) * spread : 0;
  reading.change = std::expm1(log_change);
  reading.low = std::expm1(log_change - width);
  reading.high = std::expm1(log_change + width);
  reading.relative_gate =
      std::max({options.least_ratio, options.noises * spread, options.tails * noise.tail_ratio});
  reading.absolute_gate_seconds = std::max(options.least_seconds, 2 * options.clock_step_seconds);
  if (spread > 0) {
    reading.chance = stats::StudentTwoSided(log_change / spread, noise.degrees) / 2;
  } else {
    reading.chance = log_change == 0 ? 1 : 0;
  }
  reading.relative = std::fabs(log_change) > std::log1p(reading.relative_gate);
  reading.absolute = std::fabs(median - baseline.seconds()) > reading.absolute_gate_seconds;
  reading.statistical = reading.chance <= options.chance;
  reading.sentence = Sentence(reading, median, count, baseline, noise, options.chance);
  return reading;
}

}  // namespace kbench::history
