// Which tile of a matrix product a block computes. Device code.
#pragma once

#include <cstdint>

namespace kbench::cuda {

struct TilePlace {
  int row, col;
};

// Tiles in groups of 8 rows of them, down before across, so that blocks that run at the same time
// share both operands in the second-level cache.
template <int kBlockM, int kBlockN>
__device__ TilePlace PlaceOfTile(int m, int n) {
  constexpr int kGroup = 8;
  const int down = (m - 1) / kBlockM + 1, across = (n - 1) / kBlockN + 1;
  const std::int64_t of_group = static_cast<std::int64_t>(kGroup) * across;
  const int group = static_cast<int>(blockIdx.x / of_group);
  const int rows = min(kGroup, down - group * kGroup);
  const std::int64_t within = blockIdx.x - group * of_group;
  return {(group * kGroup + static_cast<int>(within % rows)) * kBlockM,
          static_cast<int>(within / rows) * kBlockN};
}

}  // namespace kbench::cuda
