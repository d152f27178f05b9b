#include "client/output/cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "client/output/units.h"
#include "client/output/words.h"
#include "proto/support/clock.h"

namespace kbench::client {
namespace {

using kbench::v1::CaseStatus;
using kbench::v1::Result;

std::string SpeedCell(const Result& result, SpeedDetail detail) {
  return result.is_baseline() ? "baseline" : SpeedText(result.comparison(), detail);
}

std::string ErrorCell(const Result& result) {
  return result.verification().verified() ? FormatError(result.verification().relative_error())
                                          : "unverified";
}

// "40 s", "12 min", "3 h", "2 days": one unit will do.
std::string AgeText(double seconds) {
  if (seconds < 90) return fmt::format("{:.0f} s", seconds);
  if (seconds < 90 * 60) return fmt::format("{:.0f} min", seconds / 60);
  if (seconds < 48 * 3600) return fmt::format("{:.0f} h", seconds / 3600);
  return fmt::format("{:.0f} days", seconds / 86400);
}

}  // namespace

std::string TimeText(const Result& result) {
  const double ratio = IntervalRatio(result.device_time());
  std::string text = FormatSeconds(result.device_time().median());
  if (ratio > 0) text += " +-" + FormatPercent(ratio);
  return text;
}

std::string SpeedText(const kbench::v1::BaselineComparison& comparison, SpeedDetail detail) {
  if (!(comparison.speedup() > 0)) return "-";
  std::string text = FormatFactor(comparison.speedup());
  if (detail != SpeedDetail::kFactor && comparison.low() > 0 && comparison.high() > 0) {
    std::string low = FormatFactor(comparison.low());
    std::string high = FormatFactor(comparison.high());
    low.pop_back();
    high.pop_back();
    text += fmt::format(" [{}, {}]", low, high);
  }
  if (detail == SpeedDetail::kVerdict && !comparison.verdict().empty()) {
    text += " " + comparison.verdict();
  }
  return text;
}

bool IsHold(const kbench::v1::CaseSpec& spec) { return spec.kernel() == "hold"; }

std::string CaseName(const kbench::v1::CaseSpec& spec) {
  return IsHold(spec) ? "hold " + spec.size()
                      : fmt::format("{} {} {}", spec.kernel(), spec.dtype(), spec.size());
}

std::string CaseTitle(const CaseStatus& status) {
  const auto& spec = status.spec();
  if (IsHold(spec)) {
    return CaseName(spec) + (status.device().empty() ? "" : " on " + status.device());
  }
  const std::string mode = spec.mode().empty() ? "cold" : spec.mode();
  std::string title = fmt::format("{} {} {}, {}", spec.kernel(), spec.dtype(),
                                  spec.shape().empty() ? spec.size() : spec.shape(), mode);
  if (status.device().empty()) return title;
  title += ", on " + status.device();
  if (status.results_size() > 0 && !status.results(0).environment().device_name().empty()) {
    title += " (" + status.results(0).environment().device_name() + ")";
  }
  return title;
}

const std::vector<std::string>& ResultHeader() {
  static const std::vector<std::string> header = {"implementation", "time",  "rate",
                                                  "vs baseline",    "error", "verdict"};
  return header;
}

bool HasNumber(const Result& result) {
  return result.outcome() == kbench::v1::OUTCOME_OK && result.device_time().median() > 0;
}

std::vector<std::string> ResultCells(const Result& result, SpeedDetail detail) {
  return {result.implementation(),   TimeText(result),  FormatRate(result.throughput()),
          SpeedCell(result, detail), ErrorCell(result), VerdictWord(result.verdict())};
}

namespace {

// What to do when every row is SKIPPED or UNSUPPORTED: a table without a number should not look
// like a success. Empty where there is a number, or a fault that speaks for itself.
std::string NothingMeasured(const CaseStatus& status) {
  bool skipped = false;
  for (const Result& result : status.results()) {
    if (!OutcomeAdvice(result).empty()) return "";  // says it better
    const auto outcome = result.outcome();
    if (outcome == kbench::v1::OUTCOME_SKIPPED) {
      skipped = true;
    } else if (outcome != kbench::v1::OUTCOME_UNSUPPORTED) {
      return "";
    }
  }
  if (status.results_size() == 0) return "";
  return skipped ? "Nothing was measured: take a smaller size, or give it more time with --budget."
                 : "Nothing was measured: 'kbench-client kernels' lists what this device runs.";
}

}  // namespace

bool IsOneOfMany(const kbench::v1::BaselineComparison& comparison) {
  const auto& reasons = comparison.reasons();
  return std::find(reasons.begin(), reasons.end(), "MANY_COMPARISONS") != reasons.end();
}

std::vector<std::string> JobNotes(const kbench::v1::Job& job) {
  std::vector<std::string> notes;
  for (const CaseStatus& status : job.cases()) {
    for (const Result& result : status.results()) {
      if (!IsOneOfMany(result.comparison())) continue;
      notes.push_back(fmt::format("{}: {} against {}: {}", CaseTitle(status),
                                  result.implementation(), result.comparison().baseline(),
                                  result.comparison().message()));
    }
  }
  return notes;
}

std::string OriginSentence(const CaseStatus& status, std::int64_t submitted_micros) {
  if (status.results_of().empty()) return "";
  const std::string& job = status.results_of();
  if (status.results_size() == 0) return "Taken from " + job + ".";
  const std::int64_t measured = ToMicros(status.results(0).create_time());
  // Only a run that ended while this job waited was shared: what was there before was looked up.
  if (measured > submitted_micros) return "Shared with " + job + ", which measured the same case.";
  const double age = static_cast<double>(ToMicros(status.end_time()) - measured) * 1e-6;
  return fmt::format("Measured {} before this job asked, by {}.", AgeText(age), job);
}

std::vector<std::string> CaseNotes(const CaseStatus& status, std::int64_t submitted_micros) {
  std::vector<std::string> notes;
  if (const std::string origin = OriginSentence(status, submitted_micros); !origin.empty())
    notes.push_back(origin);
  std::vector<std::string> advice;  // the same one for several rows is given once
  const auto advise = [&](const std::string& text) {
    if (text.empty() || std::find(advice.begin(), advice.end(), text) != advice.end()) return;
    advice.push_back(text);
  };
  for (const Result& result : status.results()) {
    const auto better = result.configuration().find("instead_of");
    if (better != result.configuration().end()) {
      notes.push_back(result.implementation() + " stands in for " + better->second);
    }
    if (!HasNumber(result)) {
      advise(OutcomeAdvice(result));
      continue;
    }
    for (const std::string& text : VerdictAdvice(result)) advise(text);
    if (!result.comparison().message().empty()) {
      notes.push_back(result.implementation() + " against " + result.comparison().baseline() +
                      ": " + result.comparison().message());
    }
    const kbench::v1::Profile& profile = result.profile();
    for (const std::string& text : {profile.sentence(), profile.message()}) {
      if (!text.empty()) notes.push_back(result.implementation() + ": " + text);
    }
    const std::string sentence = VerdictSentence(result);
    if (result.verdict() == kbench::v1::VERDICT_VALID) {
      if (!sentence.empty()) notes.push_back(result.implementation() + ": " + sentence);
      continue;
    }
    notes.push_back(fmt::format("{} {}: {}", result.implementation(), VerdictWord(result.verdict()),
                                sentence.empty() ? "no reason was given" : sentence));
  }
  for (const std::string& text : advice) notes.push_back(text + ".");
  if (const std::string nothing = NothingMeasured(status); !nothing.empty()) {
    notes.push_back(nothing);
  }
  if (status.attempt() > 1) {
    notes.push_back(fmt::format("Measured at attempt {}: the earlier ones were lost on the way.",
                                status.attempt()));
  }
  return notes;
}

std::vector<std::string> CaseDetails(const CaseStatus& status) {
  std::vector<std::string> details;
  for (const Result& result : status.results()) {
    std::string text = result.implementation() + ":";
    // A Protobuf map has no order.
    const std::map<std::string, std::string> sorted(result.configuration().begin(),
                                                    result.configuration().end());
    for (const auto& [key, value] : sorted) text += fmt::format(" {}={}", key, value);
    if (result.autotune_seconds() > 0) {
      text += " autotune=" + FormatSeconds(result.autotune_seconds());
    }
    if (result.compile_seconds() > 0) text += " create=" + FormatSeconds(result.compile_seconds());
    if (result.first_call_seconds() > 0) {
      text += " first_call=" + FormatSeconds(result.first_call_seconds());
    }
    if (text.back() != ':') details.push_back(text);
  }
  return details;
}

std::string NoResultsSentence(const CaseStatus& status) {
  std::string text = StateWord(status.state());
  if (!status.message().empty()) return text + ": " + status.message();
  if (!status.reason().empty()) return text + ": " + status.reason();
  return text;
}

}  // namespace kbench::client
