// The choice between tiles of a tensor-core matmul, before anything is measured. Host code;
// thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cuda/device_instance.h"

namespace kbench::cuda {

inline std::int64_t Pieces(std::int64_t extent, std::int64_t piece) {
  return (extent + piece - 1) / piece;
}

// Candidates with what they are expected to cost, in no unit.
using PricedCandidates = std::vector<std::pair<double, std::string>>;

// What m x n costs in tiles of rows x columns: the most any multiprocessor gets to do, times how
// much slower such a tile makes an element of C than the best tile does (measured on an H200).
inline double TileCost(std::int64_t m, std::int64_t n, int rows, int columns, double slowness) {
  constexpr int kUnknown = 100;  // where there is no device
  const int have = CurrentDevice().multiprocessors;
  const std::int64_t tiles = Pieces(m, rows) * Pieces(n, columns);
  const std::int64_t most = Pieces(tiles, have > 0 ? have : kUnknown);
  return static_cast<double>(most) * rows * columns * slowness;
}

inline std::vector<std::string> CheapestFirst(PricedCandidates priced) {
  std::stable_sort(priced.begin(), priced.end(),
                   [](const auto& x, const auto& y) { return x.first < y.first; });
  std::vector<std::string> names;
  for (auto& [cost, name] : priced) names.push_back(std::move(name));
  return names;
}

}  // namespace kbench::cuda
