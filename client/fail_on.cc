#include "client/fail_on.h"

#include <fmt/format.h>

#include <algorithm>

#include "client/exit_code.h"
#include "client/output/cells.h"
#include "client/output/units.h"
#include "proto/support/error.h"

namespace kbench::client {
namespace {

using kbench::v1::BaselineComparison;
using kbench::v1::CaseStatus;
using kbench::v1::Result;

constexpr double kMostMargin = 1;

bool DoesNotCount(const std::string& reason) {
  return reason == "NOT_COMPARABLE" || reason == "NO_NUMBER" || reason == "SUSPECT" ||
         reason == "KEYS_DIFFER";
}

bool BaselineIsValid(const CaseStatus& status, const std::string& baseline) {
  return std::any_of(status.results().begin(), status.results().end(), [&](const Result& result) {
    return result.implementation() == baseline && result.verdict() == kbench::v1::VERDICT_VALID;
  });
}

bool IsTrusted(const CaseStatus& status, const Result& result) {
  return result.verdict() == kbench::v1::VERDICT_VALID &&
         BaselineIsValid(status, result.comparison().baseline());
}

std::string Sentence(const FailOn& fail_on, int code, bool trusted, const Result& result) {
  const char* how = fail_on.slower ? "slower" : "faster";
  return fmt::format("{} {} {} than {} by more than {}: its speed is {}{}", result.implementation(),
                     code == kExitRegression ? "is" : "may be", how, result.comparison().baseline(),
                     FormatPercent(fail_on.margin),
                     SpeedText(result.comparison(), SpeedDetail::kInterval),
                     trusted ? "" : ", but not both numbers are VALID");
}

std::string NotCompared(const CaseStatus& status, const Result& result) {
  return fmt::format("--fail-on: {}: {} has a time but was compared with no baseline",
                     CaseTitle(status), result.implementation());
}

}  // namespace

absl::StatusOr<FailOn> ParseFailOn(const std::string& text) {
  const std::size_t colon = text.find(':');
  const std::string word = text.substr(0, colon);
  FailOn fail_on;
  fail_on.slower = word != "faster";
  const bool known = word == "slower" || word == "faster";
  const std::string ratio = colon == std::string::npos ? "" : text.substr(colon + 1);
  // "slower:3" is taken neither for 3 % nor for 300 %.
  const bool percent = ratio.find('%') != std::string::npos;
  if (known && ParseRatio(ratio, &fail_on.margin) && fail_on.margin > 0 &&
      (percent ? fail_on.margin <= kMostMargin : fail_on.margin < kMostMargin)) {
    return fail_on;
  }
  const std::string message = fmt::format(
      "fail-on: '{}' is not WORD:RATIO; WORD is slower or faster, RATIO is above 0% and at most "
      "100%, as in slower:3% or slower:0.03",
      text);
  return MakeError(absl::StatusCode::kInvalidArgument, message,
                   {.reason = "BAD_FAIL_ON", .violations = {{"fail-on", message}}});
}

int FailOnCode(const FailOn& fail_on, const BaselineComparison& comparison) {
  const auto& reasons = comparison.reasons();
  if (!(comparison.low() > 0) || !(comparison.high() > 0) ||
      std::any_of(reasons.begin(), reasons.end(), DoesNotCount)) {
    return kExitInconclusive;
  }
  // The interval of the change that was asked for: times over the baseline's, or their inverse.
  const double low = fail_on.slower ? 1 / comparison.high() : comparison.low();
  const double high = fail_on.slower ? 1 / comparison.low() : comparison.high();
  // What may be chance among so many is no finding; that nothing was found stays.
  if (low > 1 + fail_on.margin && !IsOneOfMany(comparison)) return kExitRegression;
  return high <= 1 + fail_on.margin ? kExitOk : kExitInconclusive;
}

FailOnVerdict JudgeJob(const FailOn& fail_on, const kbench::v1::Job& job) {
  FailOnVerdict worst;
  int compared = 0;
  for (const CaseStatus& status : job.cases()) {
    for (const Result& result : status.results()) {
      if (!HasNumber(result) || result.is_baseline()) continue;
      if (!result.has_comparison()) {
        if (worst.code == kExitOk) worst = {kExitInconclusive, NotCompared(status, result)};
        continue;
      }
      ++compared;
      const bool trusted = IsTrusted(status, result);
      const int code = trusted ? FailOnCode(fail_on, result.comparison()) : kExitInconclusive;
      if (code == kExitOk || WorseExitCode(worst.code, code) == worst.code) continue;
      worst = {code, Sentence(fail_on, code, trusted, result)};
    }
  }
  if (compared == 0 && worst.code == kExitOk) {
    worst = {kExitInconclusive,
             "--fail-on: nothing was compared: no row beside a baseline has a time"};
  }
  return worst;
}

}  // namespace kbench::client
