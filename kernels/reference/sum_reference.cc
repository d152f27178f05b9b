// sum: linear in its input, so it is always computed in full.
#include <algorithm>
#include <cmath>

#include "kernels/reference/bulk.h"
#include "kernels/reference/inputs.h"
#include "kernels/reference/kernel_reference.h"
#include "kernels/reference/linear.h"
#include "kernels/reference/parallel.h"

namespace kbench::reference {
namespace {

constexpr std::int64_t kShare = std::int64_t{1} << 20, kPiece = 1024;

class SumReference final : public KernelReference {
 public:
  using KernelReference::KernelReference;
  std::size_t StateSize() const override { return 1; }

  // Short pieces in double, their sums in extended precision: exact to the last bit or two.
  void Compute(int threads) override {
    const OperandSpec& input = operands_.front();
    const std::int64_t n = input.elements();
    std::vector<long double> sums(static_cast<std::size_t>((n + kShare - 1) / kShare));
    ParallelFor(static_cast<std::int64_t>(sums.size()), threads, [&](std::int64_t share) {
      double values[kPiece];
      long double sum = 0;
      const std::int64_t end = std::min(n, (share + 1) * kShare);
      for (std::int64_t begin = share * kShare; begin < end; begin += kPiece) {
        const std::int64_t count = std::min(kPiece, end - begin);
        InputValues(input, 0, seed_, begin, count, values);
        sum += Sum(values, count);
      }
      sums[static_cast<std::size_t>(share)] = sum;
    });
    long double total = 0;
    for (long double sum : sums) total += sum;
    state_ = {static_cast<double>(total)};
  }

  CheckResult Check(const void* output, int threads) const override {
    if (FirstNotFinite(output_spec().storage, output, 1, threads) >= 0) return NotFinite("full", 0);
    double value = 0;
    ToDoubles(output_spec().storage, output, &value, 1);
    Errors errors;
    errors.output_norm = std::abs(value);
    errors.reference_norm = std::abs(state_[0]);
    errors.relative = std::abs(value - state_[0]) / std::max(errors.reference_norm, 1e-30);
    return Judge("full", errors);
  }
};

}  // namespace

std::unique_ptr<KernelReference> MakeSumReference(const Problem& problem, std::uint64_t seed) {
  return std::make_unique<SumReference>(problem, seed);
}

}  // namespace kbench::reference
