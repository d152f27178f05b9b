#include "worker/daemon/canary_drift.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "fmt/format.h"
#include "stats/summary.h"
#include "worker/stats/comparison.h"

namespace kbench {
namespace {

constexpr double kBetweenSessions = 4;

CanaryDrift JudgeCell(const std::vector<CanarySession>& sessions, double least) {
  CanaryDrift drift;
  const std::size_t earlier = sessions.size() - 1;
  if (earlier < static_cast<std::size_t>(stats::kMinCanaries)) return drift;
  const std::span<const CanarySession> before(sessions.data(), earlier);
  std::vector<double> logs;
  for (const CanarySession& session : before) logs.push_back(session.log_median);
  drift.ratio = std::exp(sessions.back().log_median - stats::Median(logs));
  drift.bound = std::max(least, kBetweenSessions * BetweenSessionRatio(before));
  drift.drifting = std::abs(std::log(drift.ratio)) > std::log1p(drift.bound);
  if (drift.drifting) {
    drift.message = fmt::format(
        "the canary {} takes {:.1f} % {} than the device's {} earlier ones; {:.1f} % is usual",
        sessions.back().cell, 100 * std::abs(drift.ratio - 1), drift.ratio > 1 ? "longer" : "less",
        earlier, 100 * drift.bound);
  }
  return drift;
}

double Distance(const CanaryDrift& drift) {
  return drift.ratio > 0 ? std::abs(std::log(drift.ratio)) / drift.bound : -1;
}

}  // namespace

CanaryDrift DriftOf(std::span<const CanarySession> sessions, double least) {
  std::map<std::string, std::vector<CanarySession>> cells;
  for (const CanarySession& session : sessions) cells[session.cell].push_back(session);
  CanaryDrift worst;
  for (const auto& [cell, list] : cells) {
    const CanaryDrift drift = JudgeCell(list, least);
    if (Distance(drift) > Distance(worst)) worst = drift;
  }
  return worst;
}

void MarkDrift(const std::string& message, v1::Result* result) {
  if (result->outcome() != v1::OUTCOME_OK) return;
  result->add_verdict_reasons("CANARY_DRIFT");
  if (result->verdict() == v1::VERDICT_VALID) {
    result->set_verdict(v1::VERDICT_SUSPECT);
    result->clear_message();
  }
  result->set_message(result->message() + (result->message().empty() ? "" : "; ") + message);
}

}  // namespace kbench
