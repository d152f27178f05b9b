// What is not the same in two results, with how much each thing weighs (cause.h has the figures).
// Pure; thread-safe.
#pragma once

#include <string>
#include <vector>

#include "kbench/v1/history_service.pb.h"
#include "kbench/v1/result.pb.h"

namespace kbench::history {

struct Weighed {
  v1::Difference difference;
  double weight = 0;
};

// In no order. Kinds: environment, device, kernel, measurement.
std::vector<Weighed> DifferencesOf(const v1::Result& a, const v1::Result& b);

// "driver 580.1 -> 590.2"
std::string DifferenceText(const v1::Difference& difference);

// Names that a cause refers to.
inline constexpr char kClockName[] = "clock";  // of the SMs, or of a processor's cores
inline constexpr char kMemoryClockName[] = "memory clock";
inline constexpr char kForeignWorkName[] = "foreign work";
inline constexpr char kSlicesName[] = "busy slices";
inline constexpr char kStealName[] = "cpu steal";
inline constexpr char kLoadName[] = "load of others";
inline constexpr char kEccName[] = "memory errors";
inline constexpr char kCanaryName[] = "canary";
inline constexpr char kThrottlePrefix[] = "throttled ";

}  // namespace kbench::history
