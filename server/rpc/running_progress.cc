#include "server/rpc/running_progress.h"

#include <algorithm>
#include <cmath>

#include "proto/support/clock.h"

namespace kbench::server {
namespace {

constexpr double kDefaultBudgetSeconds = 60;
constexpr double kDefaultTargetRatio = 0.005;
// A case may take this much of its budget longer: the check of what runs when the time is up.
constexpr double kGrace = 0.2;
// Of the rounds to come until the target is reached: the interval is an estimate itself.
constexpr double kFewerRounds = 0.7;
constexpr double kMoreRounds = 2;
// What follows the rounds, as a share of the time so far.
constexpr double kTailShare = 0.25;

bool AfterRounds(const std::string& phase) {
  return phase == "check" || phase == "finish" || phase == "profile";
}

// From the pace of the rounds; false before two are known.
bool ByRounds(const RunningProgress& progress, double target, double elapsed,
              scheduler::Window& window) {
  const kbench::v1::Progress& newest = progress.newest;
  const int done = newest.round() - progress.measure_round;
  if (newest.phase() != "measure" || progress.measure_since <= 0 || done < 1) return false;
  const double round_seconds = (progress.at - progress.measure_since) / done;
  const double most = std::max(newest.max_rounds(), newest.round());
  // The interval shrinks with the root of the number of rounds.
  double wanted = newest.round();
  if (newest.interval_ratio() > target) wanted *= std::pow(newest.interval_ratio() / target, 2);
  const double fewest = std::min(most, kFewerRounds * wanted);
  const double many = std::min(most, kMoreRounds * wanted);
  window.earliest = progress.at + round_seconds * std::max(0.0, fewest - newest.round());
  window.latest = progress.at + round_seconds * std::max(0.0, many - newest.round()) +
                  std::max(1.0, kTailShare * elapsed);
  return true;
}

}  // namespace

void Note(std::int64_t epoch, const kbench::v1::Progress& progress, double now,
          RunningProgress& running) {
  if (running.epoch != epoch) running = RunningProgress();
  running.epoch = epoch;
  running.newest = progress;
  running.at = now;
  if (progress.phase() == "wait") running.waited_until = now;
  const bool begins = running.measure_since <= 0 || progress.round() < running.measure_round;
  if (progress.phase() == "measure" && progress.round() > 0 && begins) {
    running.measure_since = now;
    running.measure_round = progress.round();
  }
}

bool WaitsForOthers(const RunningProgress* progress) {
  return progress != nullptr && progress->newest.phase() == "wait";
}

scheduler::Window YieldOf(const scheduler::Case& item, const kbench::v1::JobSpec& spec,
                          const RunningProgress* progress, double now) {
  scheduler::Window window;
  if (spec.has_hold()) {
    window = {true, now, std::max(now, item.started_at + ToSeconds(spec.hold().duration()))};
    return window;
  }
  if (WaitsForOthers(progress)) return window;
  // The time of a case begins anew when it need not wait any more.
  const double begin = std::max(item.started_at, progress == nullptr ? 0 : progress->waited_until);
  const double elapsed = std::max(0.0, now - begin);
  const double target =
      spec.policy().target_ratio() > 0 ? spec.policy().target_ratio() : kDefaultTargetRatio;
  window = {true, begin + item.estimate_low, begin + item.estimate_high};
  if (progress != nullptr && AfterRounds(progress->newest.phase())) {
    window.earliest = now;
    window.latest = progress->at + std::max(1.0, kTailShare * elapsed);
  } else if (progress != nullptr) {
    ByRounds(*progress, target, elapsed, window);
  }
  const double budget = spec.policy().has_case_budget() ? ToSeconds(spec.policy().case_budget())
                                                        : kDefaultBudgetSeconds;
  window.latest = std::min(window.latest, begin + (1 + kGrace) * budget);
  // Longer than anything expected: what it has taken so far is all there is to go by.
  if (window.latest <= now) window.latest = now + std::max(1.0, kTailShare * elapsed);
  window.earliest = std::clamp(window.earliest, now, window.latest);
  return window;
}

}  // namespace kbench::server
