// Which block of a persistent attention kernel computes which tiles of query rows. Made once, on
// the host: what a tile costs is known beforehand, so no counter in device memory is needed, and a
// launch leaves nothing behind. Pure; thread-safe.
#pragma once

#include <cstdint>
#include <vector>

namespace kbench::cuda {

struct AttentionTiling {
  std::int64_t heads;      // query heads of all sequences
  std::int64_t row_tiles;  // of a head
  std::int64_t rows;       // of a tile
  std::int64_t keys;       // of a key tile
  std::int64_t s;
  bool causal;
  std::int64_t heads_at_once;  // whose keys and values fit in L2 together
};

// blocks + 1 offsets into the same list, then for each block its tiles in order. A tile is
// head * row_tiles + row tile.
std::vector<int> ScheduleAttention(const AttentionTiling& tiling, int blocks);

}  // namespace kbench::cuda
