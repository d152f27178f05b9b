#include "kernels/cuda/attention_schedule.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

namespace kbench::cuda {
namespace {

// In key tiles: what surrounds the walk over the keys, and what a partial result costs.
constexpr std::int64_t kTileCost = 1, kPartCost = 2;
constexpr std::int64_t kSmallestPart = 2;
// Splitting must gain more than this share of the time.
constexpr double kWorthSplitting = 0.02;

std::int64_t KeyTiles(const AttentionTiling& tiling, std::int64_t row_tile) {
  const std::int64_t visible = tiling.causal ? (row_tile + 1) * tiling.rows : tiling.s;
  return (std::min(visible, tiling.s) + tiling.keys - 1) / tiling.keys;
}

// The longest tiles first, one group of heads after the other.
std::vector<AttentionSegment> TilesInOrder(const AttentionTiling& tiling) {
  std::vector<AttentionSegment> tiles;
  const std::int64_t group = tiling.causal ? std::max<std::int64_t>(1, tiling.heads_at_once) : 1;
  for (std::int64_t first = 0; first < tiling.heads; first += group) {
    const std::int64_t last = std::min(tiling.heads, first + group);
    for (std::int64_t row_tile = tiling.row_tiles - 1; row_tile >= 0; --row_tile) {
      const int key_tiles = static_cast<int>(KeyTiles(tiling, row_tile));
      for (std::int64_t head = first; head < last; ++head) {
        tiles.push_back(
            {static_cast<int>(head * tiling.row_tiles + row_tile), 0, key_tiles, 0, 0, 1});
      }
    }
  }
  return tiles;
}

class Blocks {
 public:
  explicit Blocks(int count) : lists_(static_cast<std::size_t>(count)) {
    for (int block = 0; block < count; ++block) loads_.push({0, block});
  }
  std::int64_t LeastLoad() const { return loads_.top().first; }
  std::int64_t MostLoad() const { return most_; }

  // Gives the segment to the block that has the least to do (Graham, 1969).
  void Give(const AttentionSegment& segment, std::int64_t cost) {
    const auto [load, block] = loads_.top();
    loads_.pop();
    lists_[static_cast<std::size_t>(block)].push_back(segment);
    loads_.push({load + cost, block});
    most_ = std::max(most_, load + cost);
  }

  // Parts come first in a block's list: whoever ends a tile then does so in the midst of the work.
  AttentionSchedule Flatten(int slots) {
    AttentionSchedule schedule;
    schedule.slots = slots;
    for (auto& list : lists_) {
      std::stable_partition(list.begin(), list.end(), [](const auto& s) { return s.parts > 1; });
      schedule.offsets.push_back(static_cast<int>(schedule.segments.size()));
      schedule.segments.insert(schedule.segments.end(), list.begin(), list.end());
    }
    schedule.offsets.push_back(static_cast<int>(schedule.segments.size()));
    return schedule;
  }

 private:
  using Load = std::pair<std::int64_t, int>;  // cost so far, block
  std::vector<std::vector<AttentionSegment>> lists_;
  std::priority_queue<Load, std::vector<Load>, std::greater<>> loads_;
  std::int64_t most_ = 0;
};

std::int64_t CostOf(const AttentionSegment& tile) { return tile.end_key_tile + kTileCost; }

// Splits a tile so that no block gets more than `target`, if it can be. Returns its parts.
int Split(const AttentionSegment& tile, std::int64_t target, int first_slot, Blocks& blocks) {
  // Where the parts end must be known before the first is given away, so that each knows how many
  // there are: all blocks that take one have about the same room.
  const std::int64_t keys = tile.end_key_tile;
  const std::int64_t room =
      std::max(kSmallestPart, target - blocks.LeastLoad() - kTileCost - kPartCost);
  const std::int64_t parts = (keys + room - 1) / room;
  AttentionSegment part = tile;
  part.parts = static_cast<int>(parts);
  part.first_slot = first_slot;
  for (std::int64_t i = 0; i < parts; ++i) {
    part.slot = first_slot + static_cast<int>(i);
    part.first_key_tile = static_cast<int>(keys * i / parts);
    part.end_key_tile = static_cast<int>(keys * (i + 1) / parts);
    blocks.Give(part,
                part.end_key_tile - part.first_key_tile + kTileCost + (parts > 1 ? kPartCost : 0));
  }
  return parts > 1 ? part.parts : 0;
}

}  // namespace

std::int64_t KeyTilesOf(const AttentionTiling& tiling) {
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < tiling.row_tiles; ++i) sum += KeyTiles(tiling, i);
  return sum * tiling.heads;
}

AttentionSchedule ScheduleAttention(const AttentionTiling& tiling, int blocks) {
  const std::vector<AttentionSegment> tiles = TilesInOrder(tiling);
  std::int64_t total = 0;
  Blocks whole(blocks);
  for (const AttentionSegment& tile : tiles) {
    total += CostOf(tile);
    whole.Give(tile, CostOf(tile));
  }
  std::int64_t target = (total + blocks - 1) / blocks;
  const double gain = 1 - static_cast<double>(target) / static_cast<double>(whole.MostLoad());
  if (gain < kWorthSplitting) return whole.Flatten(0);
  target += kTileCost + kPartCost;  // of about one part a block
  Blocks split(blocks);
  std::vector<AttentionSegment> left_over;
  for (const AttentionSegment& tile : tiles) {
    if (split.LeastLoad() + CostOf(tile) <= target) {
      split.Give(tile, CostOf(tile));
    } else {
      left_over.push_back(tile);
    }
  }
  int slots = 0;
  for (const AttentionSegment& tile : left_over) slots += Split(tile, target, slots, split);
  return split.MostLoad() < whole.MostLoad() ? split.Flatten(slots) : whole.Flatten(0);
}

}  // namespace kbench::cuda
