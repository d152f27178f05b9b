// Which block of a persistent attention kernel computes which query rows against which keys. Made
// once, on the host: what a tile costs is known beforehand, so no queue in device memory is needed.
// Pure; thread-safe.
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

// A tile of query rows (head * row_tiles + row tile) against some of its key tiles. A tile that
// would leave other blocks idle is split among several: then each part has a slot for its partial
// result, and the slots of a tile follow each other in the order of its keys.
struct AttentionSegment {
  int tile;
  int first_key_tile, end_key_tile;
  int slot, first_slot, parts;  // parts is 1 where nothing is split
};

struct AttentionSchedule {
  std::vector<int> offsets;  // of each block's segments, and their end: blocks + 1
  std::vector<AttentionSegment> segments;
  int slots = 0;
};

AttentionSchedule ScheduleAttention(const AttentionTiling& tiling, int blocks);

// Key tiles of all query tiles together.
std::int64_t KeyTilesOf(const AttentionTiling& tiling);

}  // namespace kbench::cuda
