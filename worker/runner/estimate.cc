#include "worker/runner/estimate.h"

#include <algorithm>

#include "kernels/catalog/catalog.h"

namespace kbench {
namespace {

// Units of work a second that even a plain loop in an unoptimised build does: no time goes into
// estimating what cannot be long, and a call that takes longer tells of a stall, not of the work.
constexpr double kSlowestCpuRate = 2e7;
constexpr double kSlowestGpuRate = 1e11;
constexpr double kFirstWork = 1e6;
constexpr double kGrowth = 10;
// A time this long is more than the cost of a call ...
constexpr double kClearSeconds = 0.1;
// ... if it also grew with the work: on a busy machine the hand-over between threads alone can take
// so long.
constexpr double kClearGrowth = 3;
constexpr double kLongSeconds = 1;
// Far beyond the limit a shorter time tells enough: the next one may take all that is left.
constexpr double kTellingSeconds = 0.02;
constexpr double kFarBeyond = 4;
// Small problems run in caches and large ones may not: an estimate this far below the limit is
// safe.
constexpr double kSafeShare = 0.25;
constexpr int kCalls = 3;
constexpr double kCallsSeconds = 0.1;

// The shortest of a few calls; nothing when one failed.
std::optional<double> ShortestCall(OpenInstance& opened, v1::RunnerFailure* failure) {
  double total = 0, shortest = 0;
  for (int i = 0; i < kCalls; ++i) {
    double seconds = 0;
    if (!opened.Call(&seconds, failure)) return std::nullopt;
    shortest = i == 0 ? seconds : std::min(shortest, seconds);
    total += seconds;
    // The first call loads libraries and starts threads: alone it counts only when it is very long.
    if (total > (i == 0 ? kLongSeconds : kCallsSeconds)) break;
  }
  return shortest;
}

}  // namespace

std::optional<double> EstimateLaunch(kb_engine* engine, const Implementation& implementation,
                                     const Problem& problem, const CaseOptions& options,
                                     bool on_cpu, double limit_seconds,
                                     v1::RunnerFailure* failure) {
  const double work = Work(problem);
  const double slowest_rate = on_cpu ? kSlowestCpuRate : kSlowestGpuRate;
  if (work < limit_seconds * slowest_rate) return std::nullopt;
  const KernelEntry* entry = FindKernel(problem.kernel);
  CaseOptions scaled_options = options;
  scaled_options.reference_dir.clear();  // nothing is verified here
  scaled_options.candidate.clear();      // chosen for another shape; nor is anything tuned here
  std::optional<double> estimate;
  double tried = 0, before = 0;
  for (double most = kFirstWork; most < work; most *= kGrowth) {
    Problem scaled = entry->scaled_down(problem, most);
    scaled.mode = Mode::kCold;  // one operand set is enough for an estimate
    const double scaled_work = Work(scaled);
    if (scaled_work >= work) break;      // there is no smaller one
    if (scaled_work <= tried) continue;  // rounds to the same shape
    tried = scaled_work;
    if (implementation.unsupported != nullptr && implementation.unsupported(scaled)) continue;
    v1::RunnerFailure scaled_failure;
    auto opened =
        OpenInstance::Open(engine, implementation, scaled, scaled_options, &scaled_failure);
    std::optional<double> seconds;
    if (opened) seconds = ShortestCall(*opened, &scaled_failure);
    if (!seconds) {
      if (scaled_failure.fatal()) *failure = scaled_failure;
      return std::nullopt;
    }
    if (*seconds > scaled_work / slowest_rate) continue;
    estimate = *seconds * (work / scaled_work);
    if (*estimate <= kSafeShare * limit_seconds || *seconds >= kLongSeconds) break;
    const bool hopeless = *estimate > kFarBeyond * limit_seconds;
    const double clear = hopeless ? kTellingSeconds : kClearSeconds;
    if (*seconds >= clear && *seconds >= kClearGrowth * before && before > 0) break;
    before = *seconds;
  }
  return estimate;
}

}  // namespace kbench
