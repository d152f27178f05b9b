#include "server/metrics/result_series.h"

#include <cmath>
#include <limits>

#include "proto/support/clock.h"
#include "server/store/store.h"

namespace kbench::metrics {
namespace {

using kbench::v1::Result;

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

double KnownIf(bool known, double value) { return known ? value : kUnknown; }

// The fixtures of the self-test, which are hidden everywhere; a family that holds nothing else.
bool IsFixture(const Result& result) { return result.implementation().rfind("selftest/", 0) == 0; }

struct Family {
  const char* name;
  const char* help;
  double (*value)(const Result&);
};

const Family kFamilies[] = {
    {"kbench_result_duration_seconds", "Median device time of one launch in the last result.",
     [](const Result& r) { return r.device_time().median(); }},
    {"kbench_result_duration_low_seconds", "Lower end of the confidence interval of the median.",
     [](const Result& r) { return KnownIf(r.device_time().high() > 0, r.device_time().low()); }},
    {"kbench_result_duration_high_seconds", "Upper end of the confidence interval of the median.",
     [](const Result& r) { return KnownIf(r.device_time().high() > 0, r.device_time().high()); }},
    {"kbench_result_noise_ratio", "Half-width of the interval of the median over the median.",
     [](const Result& r) {
       const auto& time = r.device_time();
       return KnownIf(time.high() > 0 && time.median() > 0,
                      (time.high() - time.low()) / (2 * time.median()));
     }},
    {"kbench_result_flops_per_second", "Floating-point operations a second at the median time.",
     [](const Result& r) {
       return KnownIf(r.throughput().flops() > 0, r.throughput().flops_per_second());
     }},
    {"kbench_result_bytes_per_second",
     "Compulsory memory traffic in bytes a second at the median time.",
     [](const Result& r) {
       return KnownIf(r.throughput().bytes() > 0, r.throughput().bytes_per_second());
     }},
    {"kbench_result_peak_flops_ratio",
     "Share of the datasheet's peak for the math mode that was reached.",
     [](const Result& r) {
       const double ratio = r.throughput().peak_flops_ratio();
       return KnownIf(ratio > 0, ratio);
     }},
    {"kbench_result_peak_bandwidth_ratio",
     "Share of the datasheet's memory bandwidth that was reached.",
     [](const Result& r) {
       const double ratio = r.throughput().peak_bandwidth_ratio();
       return KnownIf(ratio > 0, ratio);
     }},
    {"kbench_result_verified_error_ratio",
     "Relative error of the output against the fp64 reference.",
     [](const Result& r) {
       return KnownIf(r.verification().verified(), r.verification().relative_error());
     }},
    {"kbench_result_valid", "1 when the verdict of the last result is VALID, else 0.",
     [](const Result& r) { return r.verdict() == kbench::v1::VERDICT_VALID ? 1.0 : 0.0; }},
    {"kbench_result_timestamp_seconds", "When the last result was stored.",
     [](const Result& r) { return static_cast<double>(ToMicros(r.create_time())) * 1e-6; }},
};

}  // namespace

void ResultSeries::Record(const Result& result) {
  if (!store::IsDefaultResult(result) || IsFixture(result)) return;
  const std::string mode = result.case_().mode().empty() ? "cold" : result.case_().mode();
  Entry entry;
  entry.labels = {{"kernel", result.case_().kernel()},
                  {"implementation", result.implementation()},
                  {"dtype", result.case_().dtype()},
                  {"size", result.case_().shape()},
                  {"mode", mode},
                  {"device", result.device()}};
  for (const Family& family : kFamilies) entry.values.push_back(family.value(result));
  MutexLock lock(mutex_);
  const auto known = index_.find(entry.labels);
  if (known != index_.end()) entries_.erase(known->second);
  entries_.push_front(std::move(entry));
  index_[entries_.front().labels] = entries_.begin();
  if (entries_.size() <= most_) return;
  index_.erase(entries_.back().labels);
  entries_.pop_back();
  ++evicted_;
}

std::vector<prometheus::MetricFamily> ResultSeries::Collect() const {
  std::vector<prometheus::MetricFamily> families;
  MutexLock lock(mutex_);
  for (std::size_t i = 0; i < std::size(kFamilies); ++i) {
    prometheus::MetricFamily family;
    family.name = kFamilies[i].name;
    family.help = kFamilies[i].help;
    family.type = prometheus::MetricType::Gauge;
    for (const Entry& entry : entries_) {
      if (!std::isfinite(entry.values[i])) continue;
      prometheus::ClientMetric& metric = family.metric.emplace_back();
      metric.label = entry.labels;
      metric.gauge.value = entry.values[i];
    }
    if (!family.metric.empty()) families.push_back(std::move(family));
  }
  prometheus::MetricFamily evicted;
  evicted.name = "kbench_result_series_evicted_total";
  evicted.help = "Label sets of results dropped because there were too many.";
  evicted.type = prometheus::MetricType::Counter;
  evicted.metric.emplace_back().counter.value = static_cast<double>(evicted_);
  families.push_back(std::move(evicted));
  return families;
}

}  // namespace kbench::metrics
