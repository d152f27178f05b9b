#include "kernels/cuda/attention_schedule.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

namespace kbench::cuda {
namespace {

// In key tiles; what surrounds the walk over the keys costs about as much as one.
std::int64_t Cost(const AttentionTiling& tiling, std::int64_t row_tile) {
  const std::int64_t visible = tiling.causal ? (row_tile + 1) * tiling.rows : tiling.s;
  return 1 + (std::min(visible, tiling.s) + tiling.keys - 1) / tiling.keys;
}

}  // namespace

// The longest tiles first, each to the block that has the least to do (Graham, 1969), one group of
// heads after the other.
std::vector<int> ScheduleAttention(const AttentionTiling& tiling, int blocks) {
  std::vector<std::vector<int>> lists(static_cast<std::size_t>(blocks));
  using Load = std::pair<std::int64_t, int>;  // cost so far, block
  std::priority_queue<Load, std::vector<Load>, std::greater<>> loads;
  for (int block = 0; block < blocks; ++block) loads.push({0, block});
  const std::int64_t group = tiling.causal ? std::max<std::int64_t>(1, tiling.heads_at_once) : 1;
  for (std::int64_t first = 0; first < tiling.heads; first += group) {
    const std::int64_t last = std::min(tiling.heads, first + group);
    for (std::int64_t row_tile = tiling.row_tiles - 1; row_tile >= 0; --row_tile) {
      for (std::int64_t head = first; head < last; ++head) {
        const auto [load, block] = loads.top();
        loads.pop();
        lists[static_cast<std::size_t>(block)].push_back(
            static_cast<int>(head * tiling.row_tiles + row_tile));
        loads.push({load + Cost(tiling, row_tile), block});
      }
    }
  }
  std::vector<int> schedule(static_cast<std::size_t>(blocks) + 1);
  for (std::size_t block = 0; block < lists.size(); ++block) {
    schedule[block] = static_cast<int>(schedule.size());
    schedule.insert(schedule.end(), lists[block].begin(), lists[block].end());
  }
  schedule[lists.size()] = static_cast<int>(schedule.size());
  return schedule;
}

}  // namespace kbench::cuda
