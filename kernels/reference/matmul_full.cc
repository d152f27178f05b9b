// matmul, small: every element of C in fp64.
#include <algorithm>
#include <cmath>

#include "kernels/reference/bulk.h"
#include "kernels/reference/linear.h"
#include "kernels/reference/matmul_reference.h"
#include "kernels/reference/parallel.h"

namespace kbench::reference {
namespace {

class FullMatmul final : public MatmulReference {
 public:
  using MatmulReference::MatmulReference;

  std::size_t StateSize() const override { return static_cast<std::size_t>(m_ * n_); }

  // C in blocks of kTileCols x kTileCols, each by one thread.
  void Compute(int threads) override {
    state_.assign(StateSize(), 0.0);
    const std::int64_t down = (m_ + kTileCols - 1) / kTileCols;
    const std::int64_t across = (n_ + kTileCols - 1) / kTileCols;
    ParallelFor(down * across, threads, [&](std::int64_t block) {
      ComputeBlock(block / across * kTileCols, block % across * kTileCols);
    });
  }

  CheckResult Check(const void* output, int threads) const override {
    const OperandSpec& spec = output_spec();
    const std::int64_t count = spec.elements();
    const std::int64_t bad = FirstNotFinite(spec.storage, output, count, threads);
    if (bad >= 0) return NotFinite("full", bad);
    constexpr std::int64_t kPiece = 4096;
    std::vector<Difference> pieces(static_cast<std::size_t>((count + kPiece - 1) / kPiece));
    ParallelFor(static_cast<std::int64_t>(pieces.size()), threads, [&](std::int64_t i) {
      double found[kPiece];
      const std::int64_t begin = i * kPiece, part = std::min(kPiece, count - begin);
      ToDoubles(spec.storage, ElementAt(spec.storage, output, begin), found, part);
      pieces[static_cast<std::size_t>(i)] = Compare(found, state_.data() + begin, part);
    });
    Difference total;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      const Difference& piece = pieces[i];
      total.squared_error += piece.squared_error;
      total.squared_output += piece.squared_output;
      total.squared_reference += piece.squared_reference;
      if (piece.largest_error > total.largest_error) {
        total.largest_error = piece.largest_error;
        total.worst = static_cast<std::int64_t>(i) * kPiece + piece.worst;
      }
    }
    Errors errors = Norms(total.squared_output, total.squared_reference);
    AddWorst(std::sqrt(total.squared_error) / Scale(errors), "", &errors);
    AddWorst(total.largest_error / Typical(errors) / kElementWeight, Place(total.worst), &errors);
    return Judge("full", errors);
  }

 private:
  std::string Place(std::int64_t index) const {
    return "row " + std::to_string(index / n_) + ", column " + std::to_string(index % n_);
  }

  void ComputeBlock(std::int64_t row, std::int64_t col) {
    const std::int64_t rows = std::min(kTileCols, m_ - row), cols = std::min(kTileCols, n_ - col);
    const std::int64_t panels = (cols + kPanel - 1) / kPanel;
    const std::size_t tile_size = static_cast<std::size_t>(kTileCols * kTileCols);
    std::vector<double> a(tile_size), b(tile_size), packed(tile_size, 0.0);
    std::vector<double> c(tile_size, 0.0);  // panel after panel, each rows x kPanel
    for (std::int64_t depth = 0; depth < k_; depth += kTileCols) {
      const std::int64_t count = std::min(kTileCols, k_ - depth);
      a_.Load(row, rows, depth, count, a.data());
      b_.Load(depth, count, col, cols, b.data());
      for (std::int64_t panel = 0; panel < panels; ++panel) {
        double* to = packed.data() + panel * kTileCols * kPanel;
        const std::int64_t wide = std::min(kPanel, cols - panel * kPanel);
        for (std::int64_t i = 0; i < count; ++i) {
          std::copy_n(b.data() + i * cols + panel * kPanel, wide, to + i * kPanel);
        }
        PanelMultiply(a.data(), count, rows, count, to, c.data() + panel * kTileCols * kPanel);
      }
    }
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < cols; ++j) {
        state_[static_cast<std::size_t>((row + i) * n_ + col + j)] =
            c[static_cast<std::size_t>((j / kPanel * kTileCols + i) * kPanel + j % kPanel)];
      }
    }
  }
};

}  // namespace

std::unique_ptr<KernelReference> MakeFullMatmul(const Problem& problem, std::uint64_t seed) {
  return std::make_unique<FullMatmul>(problem, seed);
}

}  // namespace kbench::reference
