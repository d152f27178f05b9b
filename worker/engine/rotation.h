// How many operand sets mode graph rotates through, and how many launches make one replay. Pure;
// thread-safe.
#pragma once

#include <cstdint>

namespace kbench::engine {

inline constexpr int kMostSets = 64;
inline constexpr int kMostLaunches = 4096;  // of one replay

// max(2, 1 + ceil(3 cache / footprint)), at most 64: between two launches on one set at least three
// caches' worth of other lines has gone by. 2 for a kernel without operands.
int RotationSets(std::int64_t footprint_bytes, std::int64_t cache_bytes);

// A multiple of `sets` and at most 4096, so that a replay takes at least 200 quanta, and 1 ms,
// which keeps what the events add below about 0.2 %.
int LaunchesPerReplay(int sets, double launch_seconds, double quantum_seconds);

// Launches between two events of mode steady: at least 200 quanta and 2 ms; 1 where one launch
// takes longer.
int LaunchesPerBatch(double launch_seconds, double quantum_seconds);

}  // namespace kbench::engine
