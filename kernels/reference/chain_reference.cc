// chain: nothing is worth keeping, so the state is empty and the elements are made again when an
// output is checked: all of them, or a sample of pieces where there are many.
#include <algorithm>
#include <cmath>

#include "kernels/catalog/chain_steps.h"
#include "kernels/reference/bulk.h"
#include "kernels/reference/inputs.h"
#include "kernels/reference/kernel_reference.h"
#include "kernels/reference/linear.h"
#include "kernels/reference/parallel.h"
#include "kernels/reference/simd.h"

namespace kbench::reference {
namespace {

constexpr std::int64_t kPiece = std::int64_t{1} << 16;  // elements; what one thread takes at a time
constexpr std::int64_t kMostPieces = std::int64_t{1} << 9;  // all of them up to here, else half
constexpr std::int64_t kBlock = 1024;

// One element may err by several times the root mean square, and where there are few elements they
// may all be of that kind: fewer than this count as so many.
constexpr double kFewest = 16;
// The weight of the worst element: among 2^25 one errs by 6 times the root mean square.
constexpr double kWorstWeight = 1.0 / 8;
// Outputs have a root mean square of 0.6 to 0.9; a short one may happen to be nearly 0.
constexpr double kExpected = 0.6;

KB_INLINE void StepsBody(std::int64_t depth, double* values, std::int64_t count) {
  for (std::int64_t step = 0; step < depth; ++step) {
    const int operation = static_cast<int>(step % kChainCycle);
    for (std::int64_t i = 0; i < count; ++i) values[i] = ChainStep(operation, values[i]);
  }
}

KB_AVX2 void StepsAvx2(std::int64_t depth, double* values, std::int64_t count) {
  StepsBody(depth, values, count);
}

void Steps(std::int64_t depth, double* values, std::int64_t count) {
  if (HasAvx2()) return StepsAvx2(depth, values, count);
  StepsBody(depth, values, count);
}

class ChainReference final : public KernelReference {
 public:
  ChainReference(const Problem& problem, std::uint64_t seed)
      : KernelReference(problem, seed), n_(problem.shape["n"]), depth_(problem.shape["depth"]) {
    const std::int64_t all = (n_ + kPiece - 1) / kPiece;
    pieces_ = SampleIndices(all, all <= kMostPieces ? all : kMostPieces / 2, seed, kRowStream);
    method_ = all <= kMostPieces ? "full" : "pieces";
  }

  std::size_t StateSize() const override { return 0; }
  void Compute(int) override {}

  CheckResult Check(const void* output, int threads) const override {
    const std::int64_t bad = FirstNotFinite(problem_.dtype, output, n_, threads);
    if (bad >= 0) return NotFinite(method_, bad);
    std::vector<Difference> found(pieces_.size());
    ParallelFor(static_cast<std::int64_t>(pieces_.size()), threads, [&](std::int64_t i) {
      found[static_cast<std::size_t>(i)] = CheckPiece(output, pieces_[static_cast<std::size_t>(i)]);
    });
    Difference total;
    for (const Difference& piece : found) {
      total.squared_error += piece.squared_error;
      total.squared_output += piece.squared_output;
      total.squared_reference += piece.squared_reference;
      if (piece.largest_error > total.largest_error) {
        total.largest_error = piece.largest_error;
        total.worst = piece.worst;
      }
    }
    return Judge(method_, ErrorsOf(total));
  }

 private:
  // `worst` counts from the first element of all.
  Difference CheckPiece(const void* output, std::int64_t piece) const {
    double expected[kBlock], found[kBlock];
    Difference total;
    const std::int64_t end = std::min(n_, (piece + 1) * kPiece);
    for (std::int64_t begin = piece * kPiece; begin < end; begin += kBlock) {
      const std::int64_t count = std::min(kBlock, end - begin);
      InputValues(operands_.front(), 0, seed_, begin, count, expected);
      Steps(depth_, expected, count);
      ToDoubles(problem_.dtype, ElementAt(problem_.dtype, output, begin), found, count);
      const Difference part = Compare(found, expected, count);
      total.squared_error += part.squared_error;
      total.squared_output += part.squared_output;
      total.squared_reference += part.squared_reference;
      if (part.largest_error > total.largest_error) {
        total.largest_error = part.largest_error;
        total.worst = begin + part.worst;
      }
    }
    return total;
  }

  Errors ErrorsOf(const Difference& total) const {
    double seen = 0;
    for (std::int64_t piece : pieces_) {
      seen += static_cast<double>(std::min(n_, (piece + 1) * kPiece) - piece * kPiece);
    }
    const double count = std::max(seen, kFewest);
    const double scale = std::max(kExpected, std::sqrt(total.squared_reference / seen));
    Errors errors;
    errors.output_norm = std::sqrt(total.squared_output);
    errors.reference_norm = std::sqrt(total.squared_reference);
    errors.expected_norm = kExpected * std::sqrt(seen);
    errors.norm_slack = std::max(0.01, tolerance_ * std::sqrt(count / seen));
    errors.relative =
        std::max(std::sqrt(total.squared_error / count), total.largest_error * kWorstWeight) /
        scale;
    errors.where = "element " + std::to_string(total.worst);
    return errors;
  }

  std::int64_t n_, depth_;
  std::vector<std::int64_t> pieces_;
  std::string method_;
};

}  // namespace

std::unique_ptr<KernelReference> MakeChainReference(const Problem& problem, std::uint64_t seed) {
  return std::make_unique<ChainReference>(problem, seed);
}

}  // namespace kbench::reference
