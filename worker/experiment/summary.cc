#include "worker/experiment/summary.h"

#include <vector>

#include "stats/median_interval.h"
#include "stats/summary.h"
#include "worker/experiment/stop_rule.h"

namespace kbench::experiment {
namespace {

constexpr std::size_t kMinSamplesForP99 = 200;
constexpr double kMostlyRead = 0.25;  // share of writes in the traffic
constexpr double kMostlyWritten = 0.75;

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

v1::TimeDistribution DeviceTime(const CellRecord& record, double between_session_ratio) {
  v1::TimeDistribution time = Distribution(record.Samples(), record.Medians());
  time.set_lag1_correlation(record.Lag1Correlation());
  if (time.high() > 0) {
    const auto history = stats::Widened({time.median(), time.low(), time.high()},
                                        between_session_ratio, kConfidence);
    time.set_history_low(history.low);
    time.set_history_high(history.high);
  }
  for (const RoundRecord& round : record.rounds) {
    time.add_round_medians(round.median);
    time.add_round_numbers(round.round);
    time.add_round_clocks(round.clock_hertz);
  }
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

v1::TimeDistribution CallTime(const std::vector<double>& calls) {
  return Distribution(calls, calls);
}

void AddRoofs(const v1::Calibration& calibration, const std::string& dtype, double read_bytes,
              double written_bytes, Work* work) {
  const auto flops = calibration.matmul_flops().find(dtype);
  if (flops != calibration.matmul_flops().end()) work->roof_flops = flops->second;
  const double total = read_bytes + written_bytes;
  if (total <= 0) return;
  if (written_bytes < kMostlyRead * total) {
    work->traffic = "read";
    work->roof_bandwidth = calibration.read_bandwidth();
  } else if (written_bytes > kMostlyWritten * total) {
    work->traffic = "write";
    work->roof_bandwidth = calibration.write_bandwidth();
  } else {
    work->traffic = "copy";
    work->roof_bandwidth = calibration.copy_bandwidth();
  }
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
  if (work.roof_flops > 0) rates.set_roof_flops_ratio(rates.flops_per_second() / work.roof_flops);
  if (work.roof_bandwidth > 0) {
    rates.set_roof_bandwidth_ratio(rates.bytes_per_second() / work.roof_bandwidth);
  }
  return rates;
}

double DeviceCycles(const CellRecord& record, double median_seconds) {
  std::vector<double> clocks;
  for (const RoundRecord& round : record.rounds) {
    if (round.clock_hertz > 0) clocks.push_back(round.clock_hertz);
  }
  return clocks.empty() ? 0 : median_seconds * stats::Mean(clocks);
}

}  // namespace kbench::experiment
