// softmax: the inputs lie in [-1, 1), so the exponentials need no maximum taken off. Rows are
// looked at in bands of neighbours. Of each row looked at, the state holds 1 / sum and the largest
// element; the elements are made again when an output is checked. Other rows must still sum to 1.
#include <algorithm>
#include <cmath>

#include "kernels/reference/bulk.h"
#include "kernels/reference/inputs.h"
#include "kernels/reference/kernel_reference.h"
#include "kernels/reference/linear.h"
#include "kernels/reference/parallel.h"

namespace kbench::reference {
namespace {

constexpr std::int64_t kPiece = 1024;
// All rows are looked at up to so many elements and rows, else a sample of about half as many.
constexpr std::int64_t kMostElements = std::int64_t{1} << 25, kMostRows = std::int64_t{1} << 18;
constexpr std::int64_t kMostSummed = std::int64_t{1} << 28;  // every row's sum up to here

// Rows [begin, end): one long row, or so many short ones that they fill a piece.
struct Band {
  std::int64_t begin, end;
  std::int64_t rows() const { return end - begin; }
};

class SoftmaxReference final : public KernelReference {
 public:
  SoftmaxReference(const Problem& problem, std::uint64_t seed)
      : KernelReference(problem, seed),
        rows_(problem.shape["rows"]),
        cols_(problem.shape["cols"]),
        band_rows_(std::max<std::int64_t>(1, kPiece / cols_)) {
    const std::int64_t bands = (rows_ + band_rows_ - 1) / band_rows_;
    const bool all = rows_ <= std::min(kMostRows, kMostElements / cols_);
    const std::int64_t some = std::min(kMostRows, kMostElements / cols_) / band_rows_ / 2;
    for (std::int64_t band :
         SampleIndices(bands, all ? bands : std::max<std::int64_t>(4, some), seed, kRowStream)) {
      bands_.push_back(BandAt(band));
      offsets_.push_back(looked_at_);
      looked_at_ += bands_.back().rows();
    }
  }

  std::size_t StateSize() const override { return static_cast<std::size_t>(2 * looked_at_); }

  void Compute(int threads) override {
    state_.assign(StateSize(), 0.0);
    ParallelFor(static_cast<std::int64_t>(bands_.size()), threads, [&](std::int64_t i) {
      double values[kPiece];
      const Band band = bands_[static_cast<std::size_t>(i)];
      double* inverse = state_.data() + 2 * offsets_[static_cast<std::size_t>(i)];
      for (std::int64_t col = 0; col < cols_; col += kPiece) {
        const std::int64_t count = Exponentials(band, col, values);
        for (std::int64_t row = 0; row < band.rows(); ++row) {
          const double* from = values + row * count;
          inverse[2 * row] += Sum(from, count);
          inverse[2 * row + 1] =
              std::max(inverse[2 * row + 1], *std::max_element(from, from + count));
        }
      }
      for (std::int64_t row = 0; row < band.rows(); ++row) {
        inverse[2 * row] = 1 / inverse[2 * row];
        inverse[2 * row + 1] *= inverse[2 * row];
      }
    });
  }

  CheckResult Check(const void* output, int threads) const override {
    const std::int64_t bad =
        FirstNotFinite(problem_.dtype, output, output_spec().elements(), threads);
    if (bad >= 0) return NotFinite(Method(), bad);
    std::vector<Errors> bands(bands_.size());
    ParallelFor(static_cast<std::int64_t>(bands_.size()), threads, [&](std::int64_t i) {
      bands[static_cast<std::size_t>(i)] = CheckBand(output, static_cast<std::size_t>(i));
    });
    Errors errors;
    for (const Errors& band : bands) {
      errors.output_norm += band.output_norm;
      errors.reference_norm += band.reference_norm;
      if (band.relative > errors.relative) {
        errors.relative = band.relative;
        errors.where = band.where;
      }
    }
    errors.output_norm = std::sqrt(errors.output_norm);
    errors.reference_norm = std::sqrt(errors.reference_norm);
    SumRows(output, threads, &errors);
    return Judge(Method(), errors);
  }

 private:
  std::string Method() const { return looked_at_ == rows_ ? "full" : "rows"; }
  Band BandAt(std::int64_t band) const {
    return {band * band_rows_, std::min(rows_, (band + 1) * band_rows_)};
  }

  // Columns [col, col + kPiece) of a band, row after row; returns how many columns there are.
  std::int64_t Exponentials(Band band, std::int64_t col, double* values) const {
    const std::int64_t count = std::min(kPiece, cols_ - col);
    InputValues(operands_.front(), 0, seed_, band.begin * cols_ + col, band.rows() * count, values);
    ExpInPlace(values, band.rows() * count);
    return count;
  }

  // The same columns of the output.
  std::int64_t Outputs(const void* output, Band band, std::int64_t col, double* values) const {
    const std::int64_t count = std::min(kPiece, cols_ - col);
    ToDoubles(problem_.dtype, ElementAt(problem_.dtype, output, band.begin * cols_ + col), values,
              band.rows() * count);
    return count;
  }

  // The norms are still squared.
  Errors CheckBand(const void* output, std::size_t i) const {
    double expected[kPiece], found[kPiece];
    const Band band = bands_[i];
    const double* state = state_.data() + 2 * offsets_[i];
    Errors errors;
    for (std::int64_t col = 0; col < cols_; col += kPiece) {
      const std::int64_t count = Exponentials(band, col, expected);
      Outputs(output, band, col, found);
      for (std::int64_t row = 0; row < band.rows(); ++row) {
        double* wanted = expected + row * count;
        for (std::int64_t j = 0; j < count; ++j) wanted[j] *= state[2 * row];
        const Difference part = Compare(found + row * count, wanted, count);
        errors.output_norm += part.squared_output;
        errors.reference_norm += part.squared_reference;
        const double error = part.largest_error / state[2 * row + 1];
        if (error > errors.relative) {
          errors.relative = error;
          errors.where = "row " + std::to_string(band.begin + row) + ", column " +
                         std::to_string(col + part.worst);
        }
      }
    }
    return errors;
  }

  // How far the rows are from summing to 1: all of them, or those looked at.
  void SumRows(const void* output, int threads, Errors* errors) const {
    const bool all = rows_ <= kMostSummed / cols_;
    const std::int64_t bands =
        all ? (rows_ + band_rows_ - 1) / band_rows_ : static_cast<std::int64_t>(bands_.size());
    std::vector<std::pair<double, std::int64_t>> worst(static_cast<std::size_t>(bands));
    ParallelFor(bands, threads, [&](std::int64_t i) {
      const Band band = all ? BandAt(i) : bands_[static_cast<std::size_t>(i)];
      double values[kPiece], sums[kPiece] = {};
      for (std::int64_t col = 0; col < cols_; col += kPiece) {
        const std::int64_t count = Outputs(output, band, col, values);
        for (std::int64_t row = 0; row < band.rows(); ++row) {
          sums[row] += Sum(values + row * count, count);
        }
      }
      auto& found = worst[static_cast<std::size_t>(i)];
      for (std::int64_t row = 0; row < band.rows(); ++row) {
        found = std::max(found, {std::abs(sums[row] - 1), band.begin + row});
      }
    });
    for (const auto& [off, row] : worst) {
      if (off <= errors->relative) continue;
      errors->relative = off;
      errors->where = "row " + std::to_string(row) + ", whose sum is not 1";
    }
  }

  std::int64_t rows_, cols_, band_rows_;
  std::vector<Band> bands_;
  std::vector<std::int64_t> offsets_;  // of each band, in rows looked at
  std::int64_t looked_at_ = 0;
};

}  // namespace

std::unique_ptr<KernelReference> MakeSoftmaxReference(const Problem& problem, std::uint64_t seed) {
  return std::make_unique<SoftmaxReference>(problem, seed);
}

}  // namespace kbench::reference
