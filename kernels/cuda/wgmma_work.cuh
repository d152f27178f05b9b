// What a cluster of cuda/wgmma matmul has to do: which tiles of C in which order, and which parts
// of tiles where the last ones are split along the depth (stream-K), so that all clusters end
// together. Device code.
#pragma once

#include <cstdint>

#include "kernels/cuda/mbarrier.cuh"

namespace kbench::cuda {

// Which tile comes when: `rows` x `columns` tiles (of clusters), walked in groups of `group` rows
// (or columns, where `turned`), so that what runs at once shares what L2 holds.
struct TileOrder {
  int rows, columns, group;
  bool turned;

  __device__ int Count() const { return rows * columns; }

  __device__ void Find(int tile, int& row, int& column) const {
    const int across = turned ? columns : rows, along = turned ? rows : columns;
    const int a_group = group * along;
    const int first = tile / a_group * group;
    const int size = min(group, across - first);
    const int within = tile % a_group;
    row = first + within % size;
    column = within / size;
    if (turned) {
      const int swapped = row;
      row = column;
      column = swapped;
    }
  }
};

// The first `whole` tiles are made whole, a multiple of the clusters. The steps of depth of the
// rest are dealt out evenly: at least `steps` to each cluster, so that no more than two share a
// tile.
struct TileWork {
  TileOrder order;
  int steps;  // of a tile
  int whole;
  float4* parts;    // one slot of sums for each warp group that multiplies
  unsigned* given;  // whether a slot is filled; 0 before and after a launch
};

namespace wgmma_matmul {

// Flags in global memory between the blocks of a grid.
__device__ inline void StoreRelease(unsigned* flag, unsigned value) {
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
}
__device__ inline unsigned LoadAcquire(const unsigned* flag) {
  unsigned value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
  return value;
}

template <typename Tile>
__device__ inline int RankInCluster() {
  return Tile::kClusterBlocks > 1 ? static_cast<int>(BlockOfCluster()) : 0;
}
// A cluster makes the tiles number Cluster(), Cluster() + Clusters() ...
template <typename Tile>
__device__ inline int Cluster() {
  return static_cast<int>(blockIdx.x) / Tile::kClusterBlocks;
}
template <typename Tile>
__device__ inline int Clusters() {
  return static_cast<int>(gridDim.x) / Tile::kClusterBlocks;
}

// Where this block's part of a cluster's tile begins in C.
struct Corner {
  int row, column;
};
template <typename Tile>
__device__ inline Corner FindCorner(const TileOrder& order, int tile) {
  int row, column;
  order.Find(tile, row, column);
  const int rank = RankInCluster<Tile>();
  row = row * Tile::kClusterRows + (Tile::kClusterRows > 1 ? rank : 0);
  column = column * Tile::kClusterColumns + (Tile::kClusterColumns > 1 ? rank : 0);
  return {row * Tile::kRows, column * Tile::kColumns};
}

// Steps `begin` to `end` of a tile.
struct Piece {
  int tile, begin, end;
};

// What this block's cluster makes, one piece after the other. Of a tile shared by two clusters the
// end is the first piece of one and the beginning the last piece of the next: the one adds what
// the other made long before, and never waits for a block that starts later.
template <typename Tile>
class Pieces {
 public:
  __device__ explicit Pieces(const TileWork& work) : work_(work), tile_(Cluster<Tile>()) {
    if constexpr (!Tile::kSplits) return;
    const unsigned shared = (work.order.Count() - work.whole) * work.steps;
    const unsigned clusters = Clusters<Tile>(), range = clusters - 1 - Cluster<Tile>();
    at_ = static_cast<int>(shared * range / clusters);
    end_ = static_cast<int>(shared * (range + 1) / clusters);
  }

  __device__ bool Next(Piece& piece) {
    if (tile_ < work_.whole) {
      piece = {tile_, 0, work_.steps};
      tile_ += Clusters<Tile>();
      return true;
    }
    if (!Tile::kSplits || at_ >= end_) return false;
    const int begin = at_ % work_.steps;
    const int size = min(work_.steps - begin, end_ - at_);
    piece = {work_.whole + at_ / work_.steps, begin, begin + size};
    at_ += size;
    return true;
  }

 private:
  const TileWork& work_;
  int tile_;
  int at_ = 0, end_ = 0;  // steps of the tiles that are shared out
};

}  // namespace wgmma_matmul
}  // namespace kbench::cuda
