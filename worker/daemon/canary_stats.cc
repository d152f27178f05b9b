#include "worker/daemon/canary_stats.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

#include "stats/summary.h"

namespace kbench {
namespace {

constexpr std::size_t kLatest = 20;
// Standard deviation of a normal distribution over its median absolute deviation.
constexpr double kMadToSigma = 1.4826;

std::map<std::string, std::vector<const CanarySession*>> ByCell(
    std::span<const CanarySession> sessions) {
  std::map<std::string, std::vector<const CanarySession*>> cells;
  for (const CanarySession& session : sessions) cells[session.cell].push_back(&session);
  for (auto& [cell, list] : cells) {
    if (list.size() > kLatest) list.erase(list.begin(), list.end() - kLatest);
  }
  return cells;
}

}  // namespace

CanarySession SessionOf(const std::string& cell, std::span<const double> burst_medians) {
  std::vector<double> logs;
  for (const double median : burst_medians) logs.push_back(std::log(median));
  const auto n = static_cast<double>(logs.size());
  double mean = 0;
  for (const double value : logs) mean += value / n;
  double squares = 0;
  for (const double value : logs) squares += (value - mean) * (value - mean);
  // The variance of a median of n is about pi/2 times that of their mean.
  const double within = n > 1 ? std::numbers::pi / 2 * squares / (n - 1) / n : 0;
  return {cell, stats::Median(logs), within};
}

double BetweenSessionRatio(std::span<const CanarySession> sessions) {
  double largest = 0;
  for (const auto& [cell, list] : ByCell(sessions)) {
    if (list.size() < 2) continue;
    std::vector<double> logs;
    std::vector<double> within;
    for (const CanarySession* session : list) {
      logs.push_back(session->log_median);
      within.push_back(session->within_variance);
    }
    const double centre = stats::Median(logs);
    for (double& value : logs) value = std::abs(value - centre);
    const double sigma = kMadToSigma * stats::Median(logs);
    largest = std::max(largest, std::sqrt(std::max(0.0, sigma * sigma - stats::Median(within))));
  }
  return largest;
}

int SessionCount(std::span<const CanarySession> sessions) {
  std::size_t most = 0;
  for (const auto& [cell, list] : ByCell(sessions)) most = std::max(most, list.size());
  return static_cast<int>(most);
}

void KeepLatest(std::vector<CanarySession>* sessions) {
  std::vector<CanarySession> kept;
  for (const auto& [cell, list] : ByCell(*sessions)) {
    for (const CanarySession* session : list) kept.push_back(*session);
  }
  *sessions = std::move(kept);
}

}  // namespace kbench
