#include "worker/engine/rotation.h"

#include <algorithm>
#include <cmath>

namespace kbench::engine {
namespace {

constexpr std::int64_t kCachesBetween = 3;
constexpr double kQuanta = 200;
constexpr double kShortestReplay = 1e-3;
constexpr double kShortestBatch = 2e-3;
constexpr double kMostBatch = 1 << 20;  // a launch that takes no time at all

double Target(double shortest, double quantum) { return std::max(shortest, kQuanta * quantum); }

// A quotient that a rounding error may have pushed over a whole number does not cost a launch.
double Ceil(double value) { return std::ceil(value * (1 - 1e-12)); }

}  // namespace

int RotationSets(std::int64_t footprint_bytes, std::int64_t cache_bytes) {
  if (footprint_bytes <= 0) return 2;
  const std::int64_t between =
      (kCachesBetween * cache_bytes + footprint_bytes - 1) / footprint_bytes;
  return static_cast<int>(std::clamp<std::int64_t>(1 + between, 2, kMostSets));
}

int LaunchesPerReplay(int sets, double launch_seconds, double quantum_seconds) {
  const int most = kMostLaunches / sets;
  if (!(launch_seconds > 0)) return most * sets;
  const double turns = Ceil(Target(kShortestReplay, quantum_seconds) / (launch_seconds * sets));
  return sets * static_cast<int>(std::clamp<double>(turns, 1, most));
}

int LaunchesPerBatch(double launch_seconds, double quantum_seconds) {
  if (!(launch_seconds > 0)) return static_cast<int>(kMostBatch);
  return static_cast<int>(std::clamp<double>(
      Ceil(Target(kShortestBatch, quantum_seconds) / launch_seconds), 1, kMostBatch));
}

}  // namespace kbench::engine
