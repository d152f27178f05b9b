// matmul, large: C x against A (B x) for 16 random vectors x of +-1. The mean square of the
// difference estimates the squared Frobenius norm of the error, and every element of C takes part.
// Some rows are computed exactly besides. Costs 64 FLOP an element of A and B instead of 2 m n k.
#include <algorithm>
#include <cmath>
#include <mutex>

#include "kernels/reference/bulk.h"
#include "kernels/reference/linear.h"
#include "kernels/reference/matmul_reference.h"
#include "kernels/reference/parallel.h"

namespace kbench::reference {
namespace {

constexpr std::int64_t kExactRows = 8;
constexpr std::int64_t kMostBands = 2048;  // bands of kTileRows rows: all of them up to m = 2^17
// 16 vectors estimate the norm of a matrix of low rank only so well.
constexpr double kNormSlack = 0.25;
constexpr std::int64_t kDepth = 4096;  // rows of B at a time: bounds the memory for B x

class SampledMatmul final : public MatmulReference {
 public:
  SampledMatmul(const Problem& problem, std::uint64_t seed)
      : MatmulReference(problem, seed),
        bands_(SampleIndices((m_ + kTileRows - 1) / kTileRows, kMostBands, seed, kRowStream)),
        exact_(SampleIndices(m_, std::min(kExactRows, kMostFullElements / n_), seed,
                             kRowStream + 2)) {}

  // kTileRows rows of A (B x) for each band, then the exact rows.
  std::size_t StateSize() const override {
    return bands_.size() * kTileRows * kPanel + exact_.size() * static_cast<std::size_t>(n_);
  }

  void Compute(int threads) override {
    state_.assign(StateSize(), 0.0);
    std::vector<double> products(static_cast<std::size_t>(std::min(k_, kDepth) * kPanel));
    for (std::int64_t depth = 0; depth < k_; depth += kDepth) {
      const std::int64_t count = std::min(kDepth, k_ - depth);
      std::fill(products.begin(), products.end(), 0.0);
      MultiplyB(depth, count, threads, products.data());
      ParallelFor(Bands(), threads,
                  [&](std::int64_t i) { MultiplyA(i, depth, count, products.data()); });
    }
  }

  CheckResult Check(const void* output, int threads) const override {
    const OperandSpec& spec = output_spec();
    const std::int64_t bad = FirstNotFinite(spec.storage, output, spec.elements(), threads);
    if (bad >= 0) return NotFinite("random-vectors", bad);
    std::vector<Difference> bands(bands_.size());
    ParallelFor(Bands(), threads,
                [&](std::int64_t i) { bands[static_cast<std::size_t>(i)] = CheckBand(output, i); });
    Difference total;
    std::int64_t rows = 0;
    for (std::size_t i = 0; i < bands.size(); ++i) {
      rows += RowsOf(static_cast<std::int64_t>(i));
      total.squared_error += bands[i].squared_error;
      total.squared_output += bands[i].squared_output;
      total.squared_reference += bands[i].squared_reference;
      if (bands[i].largest_error > total.largest_error) {
        total.largest_error = bands[i].largest_error;
        total.worst = bands_[i] * kTileRows + bands[i].worst / kPanel;
      }
    }
    // Each row was seen through kPanel vectors.
    const double share =
        static_cast<double>(kPanel) * static_cast<double>(rows) / static_cast<double>(m_);
    Errors errors = Norms(total.squared_output, total.squared_reference, share);
    errors.norm_slack = kNormSlack;
    const double row_norm = Typical(errors) * std::sqrt(static_cast<double>(n_));
    AddWorst(std::sqrt(total.squared_error / share) / Scale(errors), "", &errors);
    AddWorst(total.largest_error / row_norm / kRowWeight, "row " + std::to_string(total.worst),
             &errors);
    CheckExactRows(output, Typical(errors), &errors);
    return Judge("random-vectors", errors);
  }

 private:
  std::int64_t Bands() const { return static_cast<std::int64_t>(bands_.size()); }
  std::int64_t FirstRow(std::int64_t band) const {
    return bands_[static_cast<std::size_t>(band)] * kTileRows;
  }
  std::int64_t RowsOf(std::int64_t band) const { return std::min(kTileRows, m_ - FirstRow(band)); }
  const double* BandState(std::int64_t band) const {
    return state_.data() + band * kTileRows * kPanel;
  }
  const double* ExactState(std::size_t row) const {
    return state_.data() + Bands() * kTileRows * kPanel + static_cast<std::int64_t>(row) * n_;
  }

  // Rows [depth, depth + count) of B x to `products`, and their share of the exact rows.
  void MultiplyB(std::int64_t depth, std::int64_t count, int threads, double* products) {
    std::vector<double> factors(exact_.size() * static_cast<std::size_t>(count));
    for (std::size_t r = 0; r < exact_.size(); ++r) {
      a_.Load(exact_[r], 1, depth, count, factors.data() + r * static_cast<std::size_t>(count));
    }
    std::mutex mutex;
    ParallelFor((count + kTileRows - 1) / kTileRows, threads, [&](std::int64_t i) {
      const std::int64_t row = i * kTileRows, rows = std::min(kTileRows, count - row);
      std::vector<double> tile(static_cast<std::size_t>(kTileRows * kTileCols));
      std::vector<double> signs(static_cast<std::size_t>(kTileCols * kPanel));
      std::vector<double> sums(static_cast<std::size_t>(n_) * exact_.size());
      for (std::int64_t col = 0; col < n_; col += kTileCols) {
        const std::int64_t cols = std::min(kTileCols, n_ - col);
        b_.Load(depth + row, rows, col, cols, tile.data());
        SignPanel(seed_, col, cols, signs.data());
        PanelMultiply(tile.data(), cols, rows, cols, signs.data(), products + row * kPanel);
        for (std::size_t r = 0; r < exact_.size(); ++r) {
          const double* from = factors.data() + r * static_cast<std::size_t>(count) + row;
          AddRows(from, rows, tile.data(), cols,
                  sums.data() + r * static_cast<std::size_t>(n_) + col);
        }
      }
      const std::lock_guard<std::mutex> lock(mutex);
      double* exact = state_.data() + Bands() * kTileRows * kPanel;
      for (std::size_t j = 0; j < sums.size(); ++j) exact[j] += sums[j];
    });
  }

  // Adds the part of A (B x) that columns [depth, depth + count) of A make.
  void MultiplyA(std::int64_t band, std::int64_t depth, std::int64_t count,
                 const double* products) {
    double* out = state_.data() + band * kTileRows * kPanel;
    std::vector<double> tile(static_cast<std::size_t>(kTileRows * kTileCols));
    for (std::int64_t col = 0; col < count; col += kTileCols) {
      const std::int64_t cols = std::min(kTileCols, count - col);
      a_.Load(FirstRow(band), RowsOf(band), depth + col, cols, tile.data());
      PanelMultiply(tile.data(), cols, RowsOf(band), cols, products + col * kPanel, out);
    }
  }

  // C x of one band against the state.
  Difference CheckBand(const void* output, std::int64_t band) const {
    const std::int64_t rows = RowsOf(band);
    const DType storage = output_spec().storage;
    std::vector<double> tile(static_cast<std::size_t>(kTileRows * kTileCols));
    std::vector<double> signs(static_cast<std::size_t>(kTileCols * kPanel));
    double found[kTileRows * kPanel] = {};
    for (std::int64_t col = 0; col < n_; col += kTileCols) {
      const std::int64_t cols = std::min(kTileCols, n_ - col);
      for (std::int64_t i = 0; i < rows; ++i) {
        const std::int64_t begin = (FirstRow(band) + i) * n_ + col;
        ToDoubles(storage, ElementAt(storage, output, begin), tile.data() + i * cols, cols);
      }
      SignPanel(seed_, col, cols, signs.data());
      PanelMultiply(tile.data(), cols, rows, cols, signs.data(), found);
    }
    return Compare(found, BandState(band), rows * kPanel);
  }

  void CheckExactRows(const void* output, double typical, Errors* errors) const {
    const DType storage = output_spec().storage;
    std::vector<double> found(static_cast<std::size_t>(n_));
    for (std::size_t r = 0; r < exact_.size(); ++r) {
      ToDoubles(storage, ElementAt(storage, output, exact_[r] * n_), found.data(), n_);
      const Difference row = Compare(found.data(), ExactState(r), n_);
      const std::string where = "row " + std::to_string(exact_[r]);
      const double row_error = std::sqrt(row.squared_error / static_cast<double>(n_)) / typical;
      AddWorst(row_error / kRowWeight, where, errors);
      AddWorst(row.largest_error / typical / kElementWeight,
               where + ", column " + std::to_string(row.worst), errors);
    }
  }

  std::vector<std::int64_t> bands_;
  std::vector<std::int64_t> exact_;
};

}  // namespace

std::unique_ptr<KernelReference> MakeSampledMatmul(const Problem& problem, std::uint64_t seed) {
  return std::make_unique<SampledMatmul>(problem, seed);
}

std::unique_ptr<KernelReference> MakeMatmulReference(const Problem& problem, std::uint64_t seed) {
  const KernelEntry& entry = *FindKernel("matmul");
  const bool full = entry.flops(problem) < kMostFullFlops &&
                    entry.operands(problem).back().elements() <= kMostFullElements;
  return full ? MakeFullMatmul(problem, seed) : MakeSampledMatmul(problem, seed);
}

}  // namespace kbench::reference
