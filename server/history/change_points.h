// When did a cell's time change? Over a whole history, by looking back. Pure; thread-safe.
//
// The history is parted at the place where the ranks of the results on both sides differ most
// (Mann-Whitney's statistic in units of its standard deviation, the largest of all places with at
// least five results on either side), then each part again, as E-divisive does. Ranks, not the
// energy distances of E-divisive: a single outlier is one rank, and a part of n results costs
// n log n instead of n^2. A step that was taken back hides from a look at the whole, so windows of
// half, a quarter, ... of a part (at least 40 results, overlapping by half: Kovacs et al. 2023,
// seeded binary segmentation) are looked at too, and the clearest place of all is taken.
// A place counts when a permutation of the results of its window reaches its statistic in at most
// 1 % of all cases, times the number of such windows, and when the medians of the levels on both
// sides differ by 1 % at least. It is dated where the results lie nearest to the levels on its two
// sides (by absolute distances: ranks know no sizes), or at a change of environment within two
// results of that. Permutations are drawn from a fixed seed: the same history has the
// same change points everywhere.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kbench/v1/history_service.pb.h"

namespace kbench::history {

struct ChangePointOptions {
  double chance = 0.01;
  double least_ratio = 0.01;
  std::uint64_t seed = 1;
};

// `points` oldest first; those that are not VALID do not count. In the order of time, without
// sentences.
std::vector<v1::ChangePoint> ChangePoints(std::span<const v1::HistoryPoint> points,
                                          const ChangePointOptions& options = {});

// Those of `points` (oldest first) that belong to their first, or their last, level.
enum class Level { kFirst, kLast };
std::span<const v1::HistoryPoint> LevelOf(std::span<const v1::HistoryPoint> points, Level level);

}  // namespace kbench::history
