// What each block of a persistent attention kernel works through. Needs no GPU.
#include "kernels/cuda/attention_schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace kbench::cuda {
namespace {

AttentionTiling Tiling(std::int64_t heads, std::int64_t s, bool causal, std::int64_t rows = 128) {
  return {.heads = heads,
          .row_tiles = (s + rows - 1) / rows,
          .rows = rows,
          .keys = 128,
          .s = s,
          .causal = causal,
          .heads_at_once = 4};
}

// The most key tiles that a block has, over the mean.
double Imbalance(const AttentionTiling& tiling, int blocks) {
  const AttentionSchedule schedule = ScheduleAttention(tiling, blocks);
  std::int64_t most = 0;
  for (int block = 0; block < blocks; ++block) {
    std::int64_t work = 0;
    for (int i = schedule.offsets[block]; i < schedule.offsets[block + 1]; ++i) {
      work += schedule.segments[i].end_key_tile - schedule.segments[i].first_key_tile;
    }
    most = std::max(most, work);
  }
  return static_cast<double>(most) * blocks / static_cast<double>(KeyTilesOf(tiling));
}

// Every tile's keys are covered once, in the order of its slots; parts precede whole tiles.
void CheckCovers(const AttentionTiling& tiling, int blocks) {
  const AttentionSchedule schedule = ScheduleAttention(tiling, blocks);
  ASSERT_EQ(schedule.offsets.size(), static_cast<std::size_t>(blocks) + 1);
  EXPECT_EQ(schedule.offsets.front(), 0);
  EXPECT_EQ(schedule.offsets.back(), static_cast<int>(schedule.segments.size()));
  std::map<int, std::vector<AttentionSegment>> of_tile;
  for (const AttentionSegment& segment : schedule.segments) {
    of_tile[segment.tile].push_back(segment);
  }
  EXPECT_EQ(of_tile.size(), static_cast<std::size_t>(tiling.heads * tiling.row_tiles));
  std::vector<bool> used(static_cast<std::size_t>(schedule.slots));
  std::int64_t key_tiles = 0;
  for (auto& [tile, parts] : of_tile) {
    std::sort(parts.begin(), parts.end(),
              [](const auto& a, const auto& b) { return a.slot < b.slot; });
    int reached = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      EXPECT_EQ(parts[i].parts, static_cast<int>(parts.size()));
      EXPECT_EQ(parts[i].first_key_tile, reached);
      EXPECT_GT(parts[i].end_key_tile, reached) << "a part without keys";
      reached = parts[i].end_key_tile;
      if (parts.size() == 1) continue;
      EXPECT_EQ(parts[i].slot, parts[0].first_slot + static_cast<int>(i));
      ASSERT_LT(parts[i].slot, schedule.slots);
      EXPECT_FALSE(used[parts[i].slot]);
      used[parts[i].slot] = true;
    }
    key_tiles += reached;
  }
  EXPECT_EQ(key_tiles, KeyTilesOf(tiling));
  for (int block = 0; block < blocks; ++block) {
    bool whole = false;
    for (int i = schedule.offsets[block]; i < schedule.offsets[block + 1]; ++i) {
      EXPECT_FALSE(whole && schedule.segments[i].parts > 1);
      whole = whole || schedule.segments[i].parts == 1;
    }
  }
}

TEST(AttentionSchedule, CoversEveryTileOnce) {
  for (const bool causal : {false, true}) {
    for (const std::int64_t s : {1, 128, 129, 2000, 5000}) {
      for (const std::int64_t heads : {1, 3, 16}) {
        for (const std::int64_t rows : {128, 192}) {
          for (const int blocks : {1, 7, 132}) {
            SCOPED_TRACE(std::to_string(heads) + " heads, s=" + std::to_string(s) + ", " +
                         std::to_string(blocks) + " blocks");
            CheckCovers(Tiling(heads, s, causal, rows), blocks);
          }
        }
      }
    }
  }
}

TEST(AttentionSchedule, LeavesNoBlockIdleForLong) {
  for (const std::int64_t rows : {128, 192}) {
    for (const bool causal : {false, true}) {
      EXPECT_LE(Imbalance(Tiling(16, 8192, causal, rows), 132), 1.04) << rows << causal;
      EXPECT_LE(Imbalance(Tiling(16, 2048, causal, rows), 132), 1.35) << rows << causal;
    }
  }
  EXPECT_LE(Imbalance(Tiling(1, 8192, false), 132), 1.35) << "fewer tiles than blocks";
}

TEST(AttentionSchedule, SplitsNothingThatIsBalancedAnyway) {
  EXPECT_EQ(ScheduleAttention(Tiling(33, 512, false), 132).slots, 0);
  EXPECT_EQ(ScheduleAttention(Tiling(16, 16384, true), 132).slots, 0);
}

}  // namespace
}  // namespace kbench::cuda
