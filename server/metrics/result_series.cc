#include "server/metrics/result_series.h"

#include <cmath>
#include <limits>
#include <utility>

#include "proto/support/clock.h"
#include "server/metrics/exposition_text.h"
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

constexpr std::pair<Verdict, const char*> kVerdicts[] = {
    {kbench::v1::VERDICT_VALID, ",verdict=\"valid\""},
    {kbench::v1::VERDICT_SUSPECT, ",verdict=\"suspect\""},
    {kbench::v1::VERDICT_INVALID, ",verdict=\"invalid\""}};
constexpr std::pair<RegressionState, const char*> kStates[] = {
    {kbench::v1::LEARNING, ",state=\"learning\""},
    {kbench::v1::NONE, ",state=\"none\""},
    {kbench::v1::SUSPECTED, ",state=\"suspected\""},
    {kbench::v1::CONFIRMED, ",state=\"confirmed\""},
    {kbench::v1::INCOMPARABLE, ",state=\"incomparable\""}};

Labels LabelsOf(const std::string& kernel, const std::string& implementation,
                const std::string& dtype, const std::string& shape, const std::string& mode,
                const std::string& device) {
  return {{"kernel", kernel}, {"implementation", implementation},     {"dtype", dtype},
          {"size", shape},    {"mode", mode.empty() ? "cold" : mode}, {"device", device}};
}

bool SaysNothing(const CellNote& note) {
  return note.state == kbench::v1::REGRESSION_STATE_UNSPECIFIED && note.baseline_seconds <= 0 &&
         note.interval_seconds <= 0 && !note.pinned;
}

struct NoteFamily {
  const char* name;
  const char* help;
  double (*value)(const CellNote&);  // NaN: none
};

constexpr NoteFamily kNoteFamilies[] = {
    {"kbench_result_baseline_duration_seconds", "What the cell's results are compared with.",
     [](const CellNote& n) { return KnownIf(n.baseline_seconds > 0, n.baseline_seconds); }},
    {"kbench_result_change_ratio", "Time of the newest VALID result over the baseline's, less 1.",
     [](const CellNote& n) { return KnownIf(n.baseline_seconds > 0, n.change_ratio); }},
    {"kbench_result_scheduled_interval_seconds",
     "Longest time between two runs of the schedule that measures the cell.",
     [](const CellNote& n) { return KnownIf(n.interval_seconds > 0, n.interval_seconds); }}};

}  // namespace

void ResultSeries::Record(const Result& result) {
  if (!store::IsDefaultResult(result) || store::IsFixture(result)) return;
  auto entry = std::make_shared<Entry>();
  entry->labels = LabelsOf(result.case_().kernel(), result.implementation(), result.case_().dtype(),
                           result.case_().shape(), result.case_().mode(), result.device());
  entry->verdict = result.verdict();
  entry->label_text = LabelText(entry->labels);
  for (const Family& family : kFamilies) {
    const double value = family.value(result);
    entry->values.push_back(std::isfinite(value) ? NumberText(value) : "");
  }
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

std::vector<kbench::v1::CellKey> ResultSeries::KeptWithoutResult() const {
  std::vector<kbench::v1::CellKey> cells;
  MutexLock lock(mutex_);
  for (const auto& [labels, note] : notes_) {
    if (!IsKept(labels) || index_.count(labels) > 0) continue;
    kbench::v1::CellKey& cell = cells.emplace_back();
    cell.set_kernel(labels[0].value);  // in the order of LabelsOf
    cell.set_implementation(labels[1].value);
    cell.set_dtype(labels[2].value);
    cell.set_shape(labels[3].value);
    cell.set_mode(labels[4].value);
    cell.set_device(labels[5].value);
  }
  return cells;
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

void ResultSeries::AddTo(std::string* text) const {
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
  // Families without a series are not exported.
  const auto add = [&](const char* name, const char* help, auto lines_of) {
    const std::size_t begin = text->size();
    AddHead(name, help, "gauge", text);
    const std::size_t head = text->size();
    for (const auto& [entry, note] : cells) lines_of(name, *entry, note);
    if (text->size() == head) text->resize(begin);
  };
  for (std::size_t i = 0; i < std::size(kFamilies); ++i) {
    add(kFamilies[i].name, kFamilies[i].help, [&](auto name, const Entry& entry, const auto&) {
      if (!entry.values[i].empty()) AddLine(name, entry.label_text, "", entry.values[i], text);
    });
  }
  for (const NoteFamily& family : kNoteFamilies) {
    add(family.name, family.help, [&](auto name, const Entry& entry, const CellNote& note) {
      const double value = family.value(note);
      if (std::isfinite(value)) AddLine(name, entry.label_text, "", NumberText(value), text);
    });
  }
  add("kbench_result_verdict", "1 for the verdict of the last result, else 0.",
      [&](auto name, const Entry& entry, const auto&) {
        for (const auto& [value, more] : kVerdicts) {
          AddLine(name, entry.label_text, more, entry.verdict == value ? "1" : "0", text);
        }
      });
  add("kbench_result_regression_state",
      "1 for what is thought of the cell's newest results, else 0.",
      [&](auto name, const Entry& entry, const CellNote& note) {
        if (note.state == kbench::v1::REGRESSION_STATE_UNSPECIFIED) return;
        for (const auto& [value, more] : kStates) {
          AddLine(name, entry.label_text, more, note.state == value ? "1" : "0", text);
        }
      });
  const char* evictions = "kbench_result_series_evicted_total";
  AddHead(evictions, "Label sets of results dropped because there were too many.", "counter", text);
  AddLine(evictions, "", "", std::to_string(evicted), text);
}

}  // namespace kbench::metrics
