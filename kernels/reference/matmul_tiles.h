// Tiles of the matrices of a matmul as doubles, whatever their layout, and random +-1 vectors.
// Private to the reference library. Immutable, thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/catalog/problem.h"

namespace kbench::reference {

// Where tiles are cut: a tile of doubles stays in the second cache.
inline constexpr std::int64_t kTileRows = 64, kTileCols = 256;

// An input operand seen as written in C = A B, although it may be stored transposed.
class InputMatrix {
 public:
  InputMatrix(const OperandSpec& spec, int operand, bool transposed, std::uint64_t seed)
      : spec_(spec), operand_(operand), transposed_(transposed), seed_(seed) {}

  // Rows [row, row + rows) and columns [col, col + cols) to `tile`, row-major with `cols` columns.
  void Load(std::int64_t row, std::int64_t rows, std::int64_t col, std::int64_t cols,
            double* tile) const;

 private:
  OperandSpec spec_;
  int operand_;
  bool transposed_;
  std::uint64_t seed_;
};

// Rows [row, row + count) of the matrix whose kPanel columns are random vectors of +-1.
void SignPanel(std::uint64_t seed, std::int64_t row, std::int64_t count, double* panel);

}  // namespace kbench::reference
