// The extents of an attention problem, as the flash attention kernels take them. Q and O are
// [b, h, s, d], K and V [b, hkv, s, d]. A plain value type for host and device code.
#pragma once

#include <cuda_runtime.h>

#include <climits>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include "kernels/catalog/problem.h"

namespace kbench::cuda {

struct AttentionShape {
  std::int64_t b, h, hkv, s, d;
  bool causal;

  static AttentionShape Of(const Problem& problem) {
    const Shape& shape = problem.shape;
    const std::int64_t kv = shape["hkv"] != 0 ? shape["hkv"] : shape["h"];
    return {shape["b"], shape["h"], kv, shape["s"], shape["d"], shape.causal};
  }

  std::int64_t QueryHeads() const { return b * h; }
  std::int64_t KeyHeads() const { return b * hkv; }
  // Query tiles of `rows` rows, of all heads.
  std::int64_t Tiles(std::int64_t rows) const { return QueryHeads() * ((s + rows - 1) / rows); }
  // Why a kernel that counts positions and tiles of `rows` rows in ints cannot take it, or nothing.
  std::optional<std::string> TooLong(std::int64_t rows) const {
    constexpr std::int64_t kMostPositions = 1 << 30, kMostTiles = INT_MAX / 2;
    const auto text = [](const char* what, std::int64_t is, std::int64_t most) {
      return what + std::to_string(is) + " is too many: at most " + std::to_string(most);
    };
    if (s > kMostPositions) return text("s=", s, kMostPositions);
    if (Tiles(rows) > kMostTiles) return text("tiles of query rows: ", Tiles(rows), kMostTiles);
    return std::nullopt;
  }
  // The same of a kernel that is compiled for two head sizes.
  std::optional<std::string> NotOf64Or128(std::int64_t rows) const {
    if (d == 64 || d == 128) return TooLong(rows);
    return "d=" + std::to_string(d) + " is not compiled: 64 and 128 are";
  }
  // What scores are multiplied with so that exp2 gives the softmax: log2(e) / sqrt(d).
  float ScoreScale() const {
    return static_cast<float>(1.4426950408889634 / std::sqrt(static_cast<double>(d)));
  }
};

// Query heads share the key heads in groups of neighbours, within each sequence.
template <typename Integer>
__host__ __device__ inline Integer KeyHeadOf(Integer query_head, Integer h, Integer hkv) {
  return query_head / h * hkv + query_head % h / (h / hkv);
}

}  // namespace kbench::cuda
