#include "server/history/baseline.h"

#include <cmath>
#include <vector>

#include "stats/summary.h"
#include "worker/stats/distributions.h"

namespace kbench::history {
namespace {

// 95 % of the baseline itself, from the cell's noise: order statistics have none below six results.
void SetInterval(const Noise& noise, v1::Baseline* baseline) {
  const double spread =
      stats::NormalQuantile(0.975) * noise.ratio * std::sqrt(MedianVariance(baseline->results()));
  baseline->set_low(baseline->seconds() * std::exp(-spread));
  baseline->set_high(baseline->seconds() * std::exp(spread));
  baseline->set_noise_ratio(noise.ratio);
}

}  // namespace

std::optional<v1::Baseline> LearnedBaseline(std::span<const v1::HistoryPoint> counted,
                                            const Noise& noise) {
  if (counted.size() < kLeastBaselineResults) return std::nullopt;
  if (counted.size() > kMostBaselineResults) counted = counted.first(kMostBaselineResults);
  std::vector<double> seconds;
  for (const v1::HistoryPoint& point : counted) seconds.push_back(point.seconds());
  v1::Baseline baseline;
  baseline.set_origin("learned");
  *baseline.mutable_since() = counted.front().time();
  baseline.set_seconds(stats::Median(seconds));
  baseline.set_results(static_cast<int>(seconds.size()));
  baseline.set_epoch(counted.back().epoch());
  const v1::HistoryPoint* nearest = &counted.front();
  for (const v1::HistoryPoint& point : counted) {
    if (std::fabs(point.seconds() - baseline.seconds()) <
        std::fabs(nearest->seconds() - baseline.seconds())) {
      nearest = &point;
    }
  }
  baseline.set_result(nearest->result());
  SetInterval(noise, &baseline);
  return baseline;
}

v1::Baseline PinnedBaseline(const v1::HistoryPoint& point, const std::string& by,
                            const google::protobuf::Timestamp& since, const Noise& noise) {
  v1::Baseline baseline;
  baseline.set_origin("pinned");
  baseline.set_by(by);
  *baseline.mutable_since() = since;
  baseline.set_result(point.result());
  baseline.set_seconds(point.seconds());
  baseline.set_results(1);
  baseline.set_epoch(point.epoch());
  SetInterval(noise, &baseline);
  return baseline;
}

bool IsPinned(const v1::Baseline& baseline) { return baseline.origin() == "pinned"; }

}  // namespace kbench::history
