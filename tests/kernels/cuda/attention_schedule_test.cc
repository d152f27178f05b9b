// The list of tiles that each block of a persistent attention kernel works through. Needs no GPU.
#include "kernels/cuda/attention_schedule.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace kbench::cuda {
namespace {

AttentionTiling Tiling(std::int64_t heads, std::int64_t s, bool causal) {
  return {.heads = heads,
          .row_tiles = (s + 127) / 128,
          .rows = 128,
          .keys = 128,
          .s = s,
          .causal = causal,
          .heads_at_once = 4};
}

// Key tiles of each block.
std::vector<std::int64_t> Work(const AttentionTiling& tiling, const std::vector<int>& schedule,
                               int blocks) {
  std::vector<std::int64_t> work;
  for (int block = 0; block < blocks; ++block) {
    std::int64_t& mine = work.emplace_back(0);
    for (int i = schedule[block]; i < schedule[block + 1]; ++i) {
      const std::int64_t row_tile = schedule[i] % tiling.row_tiles;
      mine += tiling.causal ? row_tile + 1 : tiling.row_tiles;
    }
  }
  return work;
}

TEST(AttentionSchedule, HasEveryTileOnce) {
  for (const bool causal : {false, true}) {
    for (const std::int64_t s : {1, 128, 129, 2000}) {
      for (const std::int64_t heads : {1, 3, 16}) {
        const AttentionTiling tiling = Tiling(heads, s, causal);
        const int tiles = static_cast<int>(heads * tiling.row_tiles);
        for (const int blocks : {1, std::min(tiles, 7), tiles}) {
          const std::vector<int> schedule = ScheduleAttention(tiling, blocks);
          ASSERT_EQ(schedule.size(), static_cast<std::size_t>(blocks + 1 + tiles));
          EXPECT_EQ(schedule[0], blocks + 1);
          EXPECT_EQ(schedule[blocks], static_cast<int>(schedule.size()));
          for (int block = 0; block < blocks; ++block) {
            EXPECT_LT(schedule[block], schedule[block + 1]) << "a block without work";
          }
          std::vector<int> all(schedule.begin() + blocks + 1, schedule.end());
          std::sort(all.begin(), all.end());
          for (int tile = 0; tile < tiles; ++tile) ASSERT_EQ(all[tile], tile);
        }
      }
    }
  }
}

TEST(AttentionSchedule, BalancesACausalProblem) {
  const AttentionTiling tiling = Tiling(16, 8192, true);
  const std::vector<std::int64_t> work = Work(tiling, ScheduleAttention(tiling, 132), 132);
  const auto [least, most] = std::minmax_element(work.begin(), work.end());
  EXPECT_LE(*most - *least, 3) << *least << " to " << *most << " key tiles";
}

TEST(AttentionSchedule, SpreadsAFullProblemEvenly) {
  const AttentionTiling tiling = Tiling(16, 2048, false);
  const std::vector<std::int64_t> work = Work(tiling, ScheduleAttention(tiling, 132), 132);
  EXPECT_EQ(*std::max_element(work.begin(), work.end()), 2 * 16);
}

}  // namespace
}  // namespace kbench::cuda
