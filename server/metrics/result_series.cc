#include "server/metrics/result_series.h"

#include <cmath>
#include <limits>
#include <utility>

#include "proto/support/clock.h"
#include "server/store/store.h"
#include "spdlog/spdlog.h"

namespace kbench::metrics {
namespace {

using kbench::v1::Result;

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

double KnownIf(bool known, double value) { return known ? value : kUnknown; }

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
    {"kbench_result_duration_min_seconds", "Shortest device time of a launch in the last result.",
     [](const Result& r) { return KnownIf(r.device_time().min() > 0, r.device_time().min()); }},
    {"kbench_result_duration_p99_seconds",
     "99th percentile of the device time of a launch in the last result.",
     [](const Result& r) { return KnownIf(r.device_time().p99() > 0, r.device_time().p99()); }},
    {"kbench_result_host_submit_seconds", "Median cost of enqueueing one launch.",
     [](const Result& r) {
       return KnownIf(r.host_submit_time().median() > 0, r.host_submit_time().median());
     }},
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
    {"kbench_result_roof_flops_ratio", "Share of the measured roof of the same dtype.",
     [](const Result& r) {
       const double ratio = r.throughput().roof_flops_ratio();
       return KnownIf(ratio > 0, ratio);
     }},
    {"kbench_result_roof_bandwidth_ratio", "Share of the measured roof of the memory.",
     [](const Result& r) {
       const double ratio = r.throughput().roof_bandwidth_ratio();
       return KnownIf(ratio > 0, ratio);
     }},
    {"kbench_result_verified_error_ratio",
     "Relative error of the output against the fp64 reference.",
     [](const Result& r) {
       return KnownIf(r.verification().verified(), r.verification().relative_error());
     }},
    {"kbench_result_energy_joules", "Energy that the device draws for one launch.",
     [](const Result& r) {
       const double joules = r.telemetry().energy_joules_per_launch();
       return KnownIf(joules > 0, joules);
     }},
    {"kbench_result_timestamp_seconds", "When the last result was stored.",
     [](const Result& r) { return static_cast<double>(ToMicros(r.create_time())) * 1e-6; }},
};

using kbench::v1::RegressionState;
using kbench::v1::Verdict;
using prometheus::MetricFamily;

constexpr std::pair<Verdict, const char*> kVerdicts[] = {{kbench::v1::VERDICT_VALID, "valid"},
                                                         {kbench::v1::VERDICT_SUSPECT, "suspect"},
                                                         {kbench::v1::VERDICT_INVALID, "invalid"}};
constexpr std::pair<RegressionState, const char*> kStates[] = {
    {kbench::v1::LEARNING, "learning"},
    {kbench::v1::NONE, "none"},
    {kbench::v1::SUSPECTED, "suspected"},
    {kbench::v1::CONFIRMED, "confirmed"},
    {kbench::v1::INCOMPARABLE, "incomparable"}};

Labels LabelsOf(const std::string& kernel, const std::string& implementation,
                const std::string& dtype, const std::string& shape, const std::string& mode,
                const std::string& device) {
  return {{"kernel", kernel}, {"implementation", implementation},     {"dtype", dtype},
          {"size", shape},    {"mode", mode.empty() ? "cold" : mode}, {"device", device}};
}

Labels With(Labels labels, const char* name, const char* value) {
  labels.push_back({name, value});
  return labels;
}

bool SaysNothing(const CellNote& note) {
  return note.state == kbench::v1::REGRESSION_STATE_UNSPECIFIED && note.baseline_seconds <= 0 &&
         note.interval_seconds <= 0 && !note.pinned;
}

// What a note adds to a cell's series.
struct NoteFamilies {
  MetricFamily baseline = MakeGauge("kbench_result_baseline_duration_seconds",
                                    "What the cell's results are compared with.");
  MetricFamily change = MakeGauge("kbench_result_change_ratio",
                                  "Time of the newest result over the baseline's, less 1.");
  MetricFamily state = MakeGauge("kbench_result_regression_state",
                                 "1 for what is thought of the cell's newest results, else 0.");
  MetricFamily interval =
      MakeGauge("kbench_result_scheduled_interval_seconds",
                "Longest time between two runs of the schedule that measures the cell.");

  void AddCell(const Labels& labels, const CellNote& note) {
    if (note.baseline_seconds > 0) {
      Add(baseline, labels, note.baseline_seconds);
      Add(change, labels, note.change_ratio);
    }
    if (note.interval_seconds > 0) Add(interval, labels, note.interval_seconds);
    if (note.state == kbench::v1::REGRESSION_STATE_UNSPECIFIED) return;
    for (const auto& [value, name] : kStates) {
      Add(state, With(labels, "state", name), note.state == value ? 1 : 0);
    }
  }
};

}  // namespace

void ResultSeries::Record(const Result& result) {
  if (!store::IsDefaultResult(result) || store::IsFixture(result)) return;
  auto entry = std::make_shared<Entry>();
  entry->labels = LabelsOf(result.case_().kernel(), result.implementation(), result.case_().dtype(),
                           result.case_().shape(), result.case_().mode(), result.device());
  entry->verdict = result.verdict();
  for (const Family& family : kFamilies) entry->values.push_back(family.value(result));
  MutexLock lock(mutex_);
  Insert(std::move(entry));
  Evict();
}

void ResultSeries::Note(const kbench::v1::CellKey& cell, const CellNote& note) {
  const Labels labels = LabelsOf(cell.kernel(), cell.implementation(), cell.dtype(), cell.shape(),
                                 cell.mode(), cell.device());
  MutexLock lock(mutex_);
  if (SaysNothing(note)) {
    notes_.erase(labels);
  } else {
    notes_[labels] = note;
  }
  const auto known = index_.find(labels);
  if (known == index_.end() || known->second.kept == IsKept(labels)) return;
  Insert(*known->second.entry);  // into the other list
  Evict();
}

bool ResultSeries::IsKept(const Labels& labels) const {
  const auto note = notes_.find(labels);
  return note != notes_.end() && (note->second.pinned || note->second.interval_seconds > 0);
}

void ResultSeries::Insert(std::shared_ptr<const Entry> entry) {
  const Labels& labels = entry->labels;
  const bool kept = IsKept(labels);
  const auto known = index_.find(labels);
  if (known != index_.end()) ListOf(known->second.kept).erase(known->second.entry);
  Entries& entries = ListOf(kept);
  entries.push_front(std::move(entry));
  index_[entries.front()->labels] = {kept, entries.begin()};
}

void ResultSeries::Evict() {
  for (const bool kept : {false, true}) {
    Entries& entries = ListOf(kept);
    if (entries.size() <= (kept ? bounds_.most_kept : bounds_.most_ad_hoc)) continue;
    if (kept && !std::exchange(warned_, true)) {
      spdlog::warn("more than {} pinned and scheduled cells: the oldest leave the metrics",
                   bounds_.most_kept);
    }
    index_.erase(entries.back()->labels);
    entries.pop_back();
    ++evicted_;
  }
}

std::vector<MetricFamily> ResultSeries::Collect() const {
  std::vector<std::pair<std::shared_ptr<const Entry>, CellNote>> cells;
  std::uint64_t evicted = 0;
  {
    MutexLock lock(mutex_);
    cells.reserve(index_.size());
    for (const auto& [labels, place] : index_) {
      const auto note = notes_.find(labels);
      cells.emplace_back(*place.entry, note == notes_.end() ? CellNote() : note->second);
    }
    evicted = evicted_;
  }
  std::vector<MetricFamily> families;
  for (std::size_t i = 0; i < std::size(kFamilies); ++i) {
    MetricFamily family = MakeGauge(kFamilies[i].name, kFamilies[i].help);
    family.metric.reserve(cells.size());
    for (const auto& [entry, note] : cells) {
      if (std::isfinite(entry->values[i])) Add(family, entry->labels, entry->values[i]);
    }
    Keep(std::move(family), families);
  }
  MetricFamily verdict =
      MakeGauge("kbench_result_verdict", "1 for the verdict of the last result, else 0.");
  NoteFamilies notes;
  for (const auto& [entry, note] : cells) {
    for (const auto& [value, name] : kVerdicts) {
      Add(verdict, With(entry->labels, "verdict", name), entry->verdict == value ? 1 : 0);
    }
    notes.AddCell(entry->labels, note);
  }
  for (MetricFamily* family :
       {&verdict, &notes.baseline, &notes.change, &notes.state, &notes.interval}) {
    Keep(std::move(*family), families);
  }
  MetricFamily dropped = MakeCounter("kbench_result_series_evicted_total",
                                     "Label sets of results dropped because there were too many.");
  Add(dropped, {}, static_cast<double>(evicted));
  Keep(std::move(dropped), families);
  return families;
}

}  // namespace kbench::metrics
