#include "worker/experiment/budget.h"

#include <algorithm>
#include <cmath>

namespace kbench::experiment {
namespace {

constexpr double kQuickTarget = 0.01;  // at or above: somebody waits at a terminal
constexpr double kMinKernelSeconds = 0.010;
constexpr double kSingleSampleSeconds = 0.050;
constexpr int kMinSamples = 10;
constexpr int kMaxSamples = 1000;
// A short kernel with a long flush: no use in an endless visit.
constexpr double kMaxVisitSeconds = 0.5;
// A shorter deadline than this tells of a busy host, not of a hang.
constexpr double kLeastDeadline = 0.5;

}  // namespace

double ReportReserve(double case_seconds) { return std::clamp(0.03 * case_seconds, 0.1, 2.0); }

double LaunchLimit(double usable_seconds, double claimed_seconds) {
  return std::max(0.0, usable_seconds - claimed_seconds) / kMinLaunches;
}

double FairShare(double usable_seconds, int left) {
  return std::max(kLeastDeadline, usable_seconds / (std::max(left, 1) + 1));
}

std::vector<std::size_t> DropUntilFits(const std::vector<LaunchCost>& costs, int launches,
                                       double usable_seconds) {
  std::vector<std::size_t> order(costs.size());
  double total = 0;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    order[i] = i;
    total += costs[i].seconds * launches;
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    if (costs[a].keep != costs[b].keep) return costs[b].keep;
    return costs[a].seconds > costs[b].seconds;
  });
  std::vector<std::size_t> dropped;
  for (const std::size_t i : order) {
    if (total <= usable_seconds) break;
    total -= costs[i].seconds * launches;
    dropped.push_back(i);
  }
  return dropped;
}

Effort EffortFor(double target_ratio, bool steady) {
  if (steady) return {.soft_measure_seconds = 30, .warm_min_seconds = 3, .warm_max_seconds = 10};
  if (target_ratio >= kQuickTarget) {
    return {.soft_measure_seconds = 1.5, .warm_min_seconds = 0.03, .warm_max_seconds = 0.2};
  }
  return {.soft_measure_seconds = 30, .warm_min_seconds = 0.1, .warm_max_seconds = 2};
}

int FullSamples(const SampleCost& cost) {
  if (cost.device_seconds > kSingleSampleSeconds) return 1;
  if (cost.device_seconds <= 0) return kMinSamples;
  const double wanted = std::ceil(kMinKernelSeconds / cost.device_seconds);
  const int samples = static_cast<int>(
      std::clamp(wanted, static_cast<double>(kMinSamples), static_cast<double>(kMaxSamples)));
  const double pace = std::max(cost.pace_seconds, cost.device_seconds);
  const double most = std::max(kMinSamples + 0.0, std::floor(kMaxVisitSeconds / pace));
  return std::min(samples, static_cast<int>(std::min(most, kMaxSamples + 0.0)));
}

std::vector<int> SamplesOfRound(const std::vector<SampleCost>& costs, int rounds_ahead,
                                double seconds) {
  std::vector<int> samples;
  for (const SampleCost& cost : costs) samples.push_back(FullSamples(cost));
  const double full = RoundSeconds(costs, samples) * std::max(rounds_ahead, 1);
  if (full <= seconds) return samples;
  const double scale = std::max(0.0, seconds) / full;
  for (int& count : samples) count = std::max(1, static_cast<int>(count * scale));
  return samples;
}

double RoundSeconds(const std::vector<SampleCost>& costs, const std::vector<int>& samples) {
  double total = 0;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    total += std::max(costs[i].pace_seconds, costs[i].device_seconds) * samples[i];
  }
  return total;
}

}  // namespace kbench::experiment
