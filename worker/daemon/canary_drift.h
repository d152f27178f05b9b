// Whether a device is what it was: the newest canary session against the device's own earlier ones.
// Pure; thread-safe.
#pragma once

#include <span>
#include <string>

#include "kbench/v1/device.pb.h"
#include "kbench/v1/result.pb.h"
#include "worker/daemon/canary_stats.h"

namespace kbench {

// A median that moved by less is no drift, however still the device kept before. A CPU is shared.
inline constexpr double kLeastDriftRatio = 0.03;
inline constexpr double kLeastCpuDriftRatio = 0.10;

struct CanaryDrift {
  double ratio = 0;  // newest over the median of the earlier ones, of the cell that moved most; 0:
                     // too few earlier ones
  double bound = 0;  // beyond which the ratio's distance from 1 is a drift
  bool drifting = false;
  std::string message;  // when drifting: one sentence with the figures
};

// `sessions` in order of time; the last one of each cell is judged against at least five earlier
// ones. The bound is `least`, or four times what medians moved between the earlier sessions.
CanaryDrift DriftOf(std::span<const CanarySession> sessions, double least);

// A result that was measured while the canary drifted: SUSPECT with CANARY_DRIFT where it was
// VALID. Nothing where there is no number.
void MarkDrift(const std::string& message, v1::Result* result);

}  // namespace kbench
