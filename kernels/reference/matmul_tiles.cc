#include "kernels/reference/matmul_tiles.h"

#include <algorithm>

#include "kernels/reference/bulk.h"
#include "kernels/reference/inputs.h"
#include "kernels/reference/kernel_reference.h"
#include "kernels/reference/linear.h"

namespace kbench::reference {

void InputMatrix::Load(std::int64_t row, std::int64_t rows, std::int64_t col, std::int64_t cols,
                       double* tile) const {
  const std::int64_t stored_cols = spec_.extents[1];
  if (!transposed_) {
    if (cols == stored_cols) {
      InputValues(spec_, operand_, seed_, row * cols, rows * cols, tile);
      return;
    }
    for (std::int64_t i = 0; i < rows; ++i) {
      InputValues(spec_, operand_, seed_, (row + i) * stored_cols + col, cols, tile + i * cols);
    }
    return;
  }
  std::vector<double> column(static_cast<std::size_t>(rows));
  for (std::int64_t j = 0; j < cols; ++j) {
    InputValues(spec_, operand_, seed_, (col + j) * stored_cols + row, rows, column.data());
    for (std::int64_t i = 0; i < rows; ++i) {
      tile[i * cols + j] = column[static_cast<std::size_t>(i)];
    }
  }
}

void SignPanel(std::uint64_t seed, std::int64_t row, std::int64_t count, double* panel) {
  constexpr std::int64_t kBlocks = 64;  // of four words, one word a row
  std::uint32_t words[4 * kBlocks];
  for (std::int64_t done = 0; done < count;) {
    const std::int64_t skip = (row + done) % 4;
    const std::int64_t part = std::min(count - done, 4 * kBlocks - skip);
    PhiloxWords(seed, kVectorStream, static_cast<std::uint64_t>((row + done) / 4),
                static_cast<int>((skip + part + 3) / 4), words);
    for (std::int64_t i = 0; i < part; ++i) {
      for (std::int64_t v = 0; v < kPanel; ++v) {
        panel[(done + i) * kPanel + v] = 1.0 - 2.0 * static_cast<double>(words[skip + i] >> v & 1);
      }
    }
    done += part;
  }
}

}  // namespace kbench::reference
