#include "server/history/compare.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "fmt/format.h"
#include "server/history/environment.h"
#include "worker/stats/clocked_comparison.h"
#include "worker/stats/distributions.h"

namespace kbench::history {
namespace {

using kbench::v1::BaselineComparison;
using kbench::v1::Result;
using stats::ComparisonVerdict;

// The most false discoveries among a family's verdicts.
constexpr double kFalseDiscoveries = 0.05;
constexpr int kLeastRounds = 6;  // below, rounds that pair have no interval

std::string FlushOf(const Result& result) {
  return result.policy().flush().empty() ? "clean" : result.policy().flush();
}

std::string ModeOf(const Result& result) {
  return result.case_().mode().empty() ? "cold" : result.case_().mode();
}

std::string Shown(const std::string& value) { return value.empty() ? "none" : value; }

std::string Join(const std::vector<std::string>& parts) {
  return fmt::format("{}", fmt::join(parts, "; "));
}

void Say(BaselineComparison* comparison, const std::string& sentence) {
  std::string& message = *comparison->mutable_message();
  message += (message.empty() ? "" : "; ") + sentence;
}

bool HasNumber(const Result& result) {
  return result.outcome() == kbench::v1::OUTCOME_OK && result.device_time().median() > 0;
}

stats::RoundSeries SeriesOf(const Result& result) {
  const auto& time = result.device_time();
  return {{time.round_numbers().begin(), time.round_numbers().end()},
          {time.round_medians().begin(), time.round_medians().end()},
          {time.round_clocks().begin(), time.round_clocks().end()}};
}

bool OneAttempt(const Result& a, const Result& b) {
  return !a.job().empty() && a.job() == b.job() && a.case_index() == b.case_index() &&
         a.attempt() == b.attempt();
}

// What keeps a number from being used at all, as one sentence; empty where nothing does.
std::string Unusable(const Result& result) {
  if (!HasNumber(result)) {
    return fmt::format("{} has no time: its outcome is {}", result.name(),
                       kbench::v1::Outcome_Name(result.outcome()).substr(sizeof("OUTCOME_") - 1));
  }
  return "";
}

std::string Reasons(const Result& result) {
  return fmt::format("{}", fmt::join(result.verdict_reasons(), ", "));
}

void WarnOfTrust(const Result& result, BaselineComparison* comparison) {
  if (result.verdict() != kbench::v1::VERDICT_SUSPECT) return;
  if (std::find(comparison->reasons().begin(), comparison->reasons().end(), "SUSPECT") ==
      comparison->reasons().end()) {
    comparison->add_reasons("SUSPECT");
  }
  Say(comparison, fmt::format("{} is SUSPECT ({})", result.name(), Reasons(result)));
}

void WarnOfEngine(const Result& a, const Result& b, BaselineComparison* comparison) {
  const std::string& one = a.environment().engine_version();
  const std::string& other = b.environment().engine_version();
  if (one == other) return;
  comparison->add_reasons("ENGINE_DIFFERS");
  Say(comparison, fmt::format("measured by engine {} and {}", Shown(one), Shown(other)));
}

void Fill(const stats::ClockedComparison& compared, double margin, BaselineComparison* comparison) {
  const stats::Interval& ratio = compared.seconds.ratio;
  comparison->set_speedup(1 / ratio.centre);
  if (ratio.low > 0) {
    comparison->set_low(1 / ratio.high);
    comparison->set_high(1 / ratio.low);
  }
  comparison->set_verdict(stats::VerdictName(compared.seconds.verdict));
  comparison->set_margin_ratio(margin);
  comparison->set_p_value(compared.seconds.p_value);
  if (compared.cycles_ratio > 0) comparison->set_cycles_speedup(1 / compared.cycles_ratio);
  if (compared.clock_confounded) {
    comparison->add_reasons("CLOCK_CONFOUNDED");
    Say(comparison, "the two ran at different clocks: in device cycles the verdict is another one");
  }
  if (ratio.low <= 0) {
    comparison->add_reasons("FEW_ROUNDS");
    Say(comparison, fmt::format("{} rounds are too few for an interval", compared.seconds.pairs));
  }
}

// What no force overrides: a mode measures another thing, and a dtype fixes the math mode.
bool NeverComparable(const Result& a, const Result& b) {
  return ModeOf(a) != ModeOf(b) || a.case_().dtype() != b.case_().dtype();
}

// Results of the same case that share no rounds (they ran in different groups) still compare as
// sessions do.
stats::ClockedComparison Compared(const Result& a, const Result& b, double margin,
                                  double between_session_ratio, bool* paired) {
  const stats::RoundSeries one = SeriesOf(a);
  const stats::RoundSeries other = SeriesOf(b);
  if (OneAttempt(a, b)) {
    auto by_round = stats::CompareRounds(one, other, margin);
    *paired = by_round.seconds.pairs >= kLeastRounds;
    if (*paired) return by_round;
  }
  return stats::CompareSessions(one, other, margin, between_session_ratio);
}

// That the ratio is 1, as far as the side of its interval that faces 1 tells.
double PValueOfInterval(const BaselineComparison& comparison) {
  const double log_ratio = std::log(comparison.speedup());
  const double facing = log_ratio > 0 ? log_ratio - std::log(comparison.low())
                                      : std::log(comparison.high()) - log_ratio;
  if (!(facing > 0)) return log_ratio == 0 ? 1 : 0;
  const double alpha = comparison.paired() ? stats::kPairedAlpha : stats::kComparisonAlpha;
  const double z = stats::NormalQuantile(1 - alpha / 2);
  return stats::StudentTwoSided(z * std::abs(log_ratio) / facing, kLeastRounds - 1);
}

}  // namespace

std::vector<std::string> KeyDifferences(const Result& a, const Result& b) {
  std::vector<std::pair<std::string, std::pair<std::string, std::string>>> keys = {
      {"kernel", {a.case_().kernel(), b.case_().kernel()}},
      {"dtype", {a.case_().dtype(), b.case_().dtype()}},
      {"shape", {a.case_().shape(), b.case_().shape()}},
      {"mode", {ModeOf(a), ModeOf(b)}},
      {"flush", {FlushOf(a), FlushOf(b)}},
      {"mechanism", {a.mechanism(), b.mechanism()}},
  };
  const auto one = MachineFacts(a);
  const auto other = MachineFacts(b);
  for (std::size_t i = 0; i < one.size(); ++i) {
    keys.push_back({one[i].first, {one[i].second, other[i].second}});
  }
  std::vector<std::string> differences;
  for (const auto& [key, values] : keys) {
    if (values.first == values.second) continue;
    differences.push_back(
        fmt::format("{} {} against {}", key, Shown(values.first), Shown(values.second)));
  }
  return differences;
}

BaselineComparison CompareResults(const Result& a, const Result& b, const CompareOptions& options) {
  BaselineComparison comparison;
  comparison.set_baseline(b.name());
  const double margin = options.margin_ratio > 0 ? options.margin_ratio : stats::kDefaultMargin;
  comparison.set_margin_ratio(margin);
  comparison.set_verdict(stats::VerdictName(ComparisonVerdict::kInconclusive));
  for (const Result* result : {&a, &b}) {
    if (const std::string why = Unusable(*result); !why.empty()) {
      if (comparison.reasons().empty()) comparison.add_reasons("NO_NUMBER");
      Say(&comparison, why);
    }
  }
  if (!comparison.reasons().empty()) return comparison;

  std::vector<std::string> against = KeyDifferences(a, b);
  for (const Result* result : {&a, &b}) {
    if (result->verdict() != kbench::v1::VERDICT_INVALID) continue;
    against.push_back(fmt::format("{} is INVALID ({})", result->name(), Reasons(*result)));
  }
  if (!against.empty()) {
    const bool refused = !options.force || NeverComparable(a, b);
    comparison.add_reasons(refused ? "NOT_COMPARABLE" : "KEYS_DIFFER");
    Say(&comparison, Join(against));
    if (refused && options.force) {
      Say(&comparison, "other modes and dtypes (math modes) are never compared, not by force");
    }
    if (refused) return comparison;
  }
  bool paired = false;
  const auto compared = Compared(a, b, margin, options.between_session_ratio, &paired);
  comparison.set_paired(paired);
  if (compared.seconds.pairs == 0) {
    // Stored without their rounds: a ratio of medians, and nothing to say how sure it is.
    comparison.set_speedup(b.device_time().median() / a.device_time().median());
    comparison.add_reasons("FEW_ROUNDS");
    Say(&comparison, "the medians of the rounds were not stored, so there is no interval");
  } else {
    Fill(compared, margin, &comparison);
  }
  WarnOfTrust(a, &comparison);
  WarnOfTrust(b, &comparison);
  WarnOfEngine(a, b, &comparison);
  return comparison;
}

void BoundFalseDiscoveries(const std::vector<BaselineComparison*>& family) {
  std::vector<BaselineComparison*> members;
  std::vector<double> p_values;
  for (BaselineComparison* comparison : family) {
    if (!(comparison->low() > 0) || !(comparison->high() > 0)) continue;
    members.push_back(comparison);
    p_values.push_back(PValueOfInterval(*comparison));
  }
  if (members.size() < 2) return;  // alone, the interval has the last word
  const std::vector<double> adjusted = stats::AdjustedPValues(p_values);
  for (std::size_t i = 0; i < members.size(); ++i) {
    BaselineComparison& comparison = *members[i];
    if (adjusted[i] <= kFalseDiscoveries) continue;
    if (comparison.verdict() != stats::VerdictName(ComparisonVerdict::kFaster) &&
        comparison.verdict() != stats::VerdictName(ComparisonVerdict::kSlower)) {
      continue;
    }
    Say(&comparison,
        fmt::format("{} by itself, but among {} comparisons such a difference comes up by chance",
                    comparison.verdict(), members.size()));
    comparison.set_verdict(stats::VerdictName(ComparisonVerdict::kInconclusive));
    comparison.add_reasons("MANY_COMPARISONS");
  }
}

void BoundFalseDiscoveries(kbench::v1::Job* job) {
  std::vector<BaselineComparison*> family;
  for (kbench::v1::CaseStatus& status : *job->mutable_cases()) {
    for (Result& result : *status.mutable_results()) {
      if (result.has_comparison()) family.push_back(result.mutable_comparison());
    }
  }
  BoundFalseDiscoveries(family);
}

}  // namespace kbench::history
