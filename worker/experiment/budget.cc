#include "worker/experiment/budget.h"

#include <algorithm>
#include <cmath>

namespace kbench::experiment {
namespace {

constexpr double kMinKernelSeconds = 0.010;
constexpr double kSingleSampleSeconds = 0.050;
constexpr int kMinSamples = 10;
constexpr double kMostBatches = 1000;  // of 2 ms or more
constexpr double kSteadyCaseSeconds = 33;
constexpr double kLeastSteadySeconds = 10;  // eight rounds of three cells
constexpr double kMostSteadySeconds = 30;
// A short kernel with a long flush: no use in an endless visit.
constexpr double kMaxVisitSeconds = 0.5;
// A shorter deadline than this tells of a busy host, not of a hang.
constexpr double kLeastDeadline = 0.5;

// The largest even number up to `most`; below two, what there is.
int EvenBelow(double most) {
  const int whole = static_cast<int>(most);
  return whole < 2 ? whole : whole - whole % 2;
}

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

int MostSamples(const SampleCost& cost) {
  const double pace = std::max(cost.pace_seconds, cost.device_seconds);
  const double most = pace > 0 ? kMaxVisitSeconds / pace : kMaxSamples;
  return EvenBelow(std::clamp(most, kMinSamples + 0.0, kMaxSamples + 0.0));
}

double SteadyMeasureSeconds(double spent) {
  return std::clamp(kSteadyCaseSeconds - spent, kLeastSteadySeconds, kMostSteadySeconds);
}

int LeadSamples(const SampleCost& cost) {
  if (cost.steady_seconds <= 0 || cost.pace_seconds <= 0) return 0;
  return static_cast<int>(
      std::min(std::ceil(kSteadyLeadSeconds / cost.pace_seconds), kMostBatches));
}

int FullSamples(const SampleCost& cost) {
  if (cost.steady_seconds > 0 && cost.pace_seconds > 0) {
    return std::max(1, EvenBelow(std::min(cost.steady_seconds / cost.pace_seconds, kMostBatches)));
  }
  if (cost.device_seconds > kSingleSampleSeconds) return 1;
  if (cost.device_seconds <= 0) return kMinSamples;
  const double pairs = std::ceil(kMinKernelSeconds / cost.device_seconds / 2);
  const double samples = std::clamp(2 * pairs, kMinSamples + 0.0, kMaxSamples + 0.0);
  return std::min(static_cast<int>(samples), MostSamples(cost));
}

std::vector<int> SamplesOfRound(const std::vector<SampleCost>& costs, int rounds_ahead,
                                double seconds) {
  std::vector<int> samples;
  double apart = 0;  // from the samples: does not shrink with them
  for (const SampleCost& cost : costs) {
    samples.push_back(FullSamples(cost));
    apart += cost.visit_seconds;
  }
  const double of_pass = seconds / std::max(rounds_ahead, 1);
  const double full = PassSeconds(costs, samples);
  if (full <= of_pass) return samples;
  const double scale = full > apart ? std::max(0.0, of_pass - apart) / (full - apart) : 0;
  for (int& count : samples) count = std::max(1, EvenBelow(count * scale));
  return samples;
}

double PassSeconds(const std::vector<SampleCost>& costs, const std::vector<int>& samples) {
  double total = 0;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    total += std::max(costs[i].pace_seconds, costs[i].device_seconds) * samples[i];
    total += costs[i].visit_seconds;
  }
  return total;
}

}  // namespace kbench::experiment
