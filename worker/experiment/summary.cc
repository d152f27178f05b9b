#include "worker/experiment/summary.h"

#include <map>
#include <vector>

#include "worker/experiment/stop_rule.h"
#include "worker/stats/median_interval.h"
#include "worker/stats/summary.h"

namespace kbench::experiment {
namespace {

constexpr std::size_t kMinSamplesForP99 = 200;
// FLOP per byte. Every processor of the last decade balances somewhere between these two.
constexpr double kSurelyMemoryBound = 4;
constexpr double kSurelyComputeBound = 64;

v1::TimeDistribution Distribution(const std::vector<double>& samples,
                                  const std::vector<double>& medians) {
  v1::TimeDistribution time;
  if (samples.empty() || medians.empty()) return time;
  time.set_median(stats::Median(medians));
  if (const auto interval = PublishedInterval(medians)) {
    time.set_low(interval->low);
    time.set_high(interval->high);
    time.set_confidence(kConfidence);
  }
  const std::vector<double> sorted = stats::Sorted(samples);
  time.set_min(sorted.front());
  time.set_p05(stats::QuantileSorted(sorted, 0.05));
  time.set_p25(stats::QuantileSorted(sorted, 0.25));
  time.set_p75(stats::QuantileSorted(sorted, 0.75));
  time.set_p95(stats::QuantileSorted(sorted, 0.95));
  if (sorted.size() >= kMinSamplesForP99) time.set_p99(stats::QuantileSorted(sorted, 0.99));
  time.set_max(sorted.back());
  time.set_mean(stats::Mean(sorted));
  time.set_stddev(stats::StdDev(sorted));
  time.set_mad(stats::Mad(sorted));
  time.set_samples(static_cast<int>(sorted.size()));
  time.set_rounds(static_cast<int>(medians.size()));
  return time;
}

}  // namespace

v1::TimeDistribution DeviceTime(const CellRecord& record) {
  v1::TimeDistribution time = Distribution(record.Samples(), record.Medians());
  time.set_discarded_samples(record.DiscardedSamples());
  time.set_discarded_rounds(record.discarded_rounds);
  return time;
}

v1::TimeDistribution SubmitTime(const CellRecord& record) {
  std::vector<double> medians;
  for (const RoundRecord& round : record.rounds) {
    if (!round.submit_seconds.empty()) medians.push_back(stats::Median(round.submit_seconds));
  }
  return Distribution(record.SubmitSamples(), medians);
}

v1::Throughput Rates(const Work& work, double seconds) {
  v1::Throughput rates;
  rates.set_flops(work.flops);
  rates.set_bytes(work.bytes);
  if (seconds <= 0) return rates;
  rates.set_flops_per_second(work.flops / seconds);
  rates.set_bytes_per_second(work.bytes / seconds);
  if (work.peak_flops > 0) rates.set_peak_flops_ratio(rates.flops_per_second() / work.peak_flops);
  if (work.peak_bandwidth > 0) {
    rates.set_peak_bandwidth_ratio(rates.bytes_per_second() / work.peak_bandwidth);
  }
  return rates;
}

std::string Regime(const Work& work, const v1::Throughput& rates, double device_seconds,
                   double submit_seconds) {
  if (device_seconds <= 0) return "";
  if (submit_seconds > device_seconds) return "launch-bound";
  if (work.flops <= 0 && work.bytes <= 0) return "launch-bound";
  if (work.peak_flops > 0 && work.peak_bandwidth > 0) {
    return rates.peak_flops_ratio() > rates.peak_bandwidth_ratio() ? "compute-bound"
                                                                   : "memory-bound";
  }
  if (work.bytes <= 0) return "compute-bound";
  const double intensity = work.flops / work.bytes;
  if (intensity < kSurelyMemoryBound) return "memory-bound";
  if (intensity > kSurelyComputeBound) return "compute-bound";
  return "";
}

bool Compare(const std::string& baseline_name, const CellRecord& baseline, const CellRecord& own,
             v1::BaselineComparison* comparison) {
  std::map<int, double> baseline_rounds;
  for (const RoundRecord& round : baseline.rounds) baseline_rounds[round.round] = round.median;
  std::vector<double> baseline_medians;
  std::vector<double> own_medians;
  for (const RoundRecord& round : own.rounds) {
    const auto pair = baseline_rounds.find(round.round);
    if (pair == baseline_rounds.end()) continue;
    baseline_medians.push_back(pair->second);
    own_medians.push_back(round.median);
  }
  const auto ratio = stats::PairedRatio(baseline_medians, own_medians, 1 - kConfidence);
  if (!ratio) return false;
  comparison->set_baseline(baseline_name);
  comparison->set_speedup(ratio->centre);
  comparison->set_low(ratio->low);
  comparison->set_high(ratio->high);
  return true;
}

double DeviceCycles(const CellRecord& record, double median_seconds) {
  std::vector<double> clocks;
  for (const RoundRecord& round : record.rounds) {
    if (round.clock_hertz > 0) clocks.push_back(round.clock_hertz);
  }
  return clocks.empty() ? 0 : median_seconds * stats::Mean(clocks);
}

}  // namespace kbench::experiment
