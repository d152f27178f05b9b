// cpu/naive softmax: each row of x[rows, cols] in three passes.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/cpu/accumulate.h"
#include "kernels/cpu/implementations.h"
#include "kernels/cpu/naive.h"

namespace kbench {
namespace {

template <typename E>
void SoftmaxRow(const typename E::Storage* x, typename E::Storage* y, std::int64_t cols) {
  using Compute = typename E::Compute;
  Compute largest = E::Load(x[0]);
  for (std::int64_t i = 1; i < cols; ++i) largest = std::max(largest, E::Load(x[i]));
  const Compute total = PairwiseSum<Compute>(
      0, cols, [&](std::int64_t i) { return std::exp(E::Load(x[i]) - largest); });
  for (std::int64_t i = 0; i < cols; ++i) {
    y[i] = E::Store(std::exp(E::Load(x[i]) - largest) / total);
  }
}

CreateResult Create(const Problem& problem, const OperandPointers& operands,
                    const DeviceContext& /*context*/) {
  const std::int64_t rows = problem.shape["rows"];
  const std::int64_t cols = problem.shape["cols"];
  return CreateNaive(problem, [&](auto element) -> HostBody {
    using E = decltype(element);
    const auto* x = static_cast<const typename E::Storage*>(operands.inputs[0]);
    auto* y = static_cast<typename E::Storage*>(operands.output);
    return [=] {
      for (std::int64_t row = 0; row < rows; ++row) {
        SoftmaxRow<E>(x + row * cols, y + row * cols, cols);
      }
    };
  });
}

}  // namespace

Implementation CpuNaiveSoftmax() {
  return NaiveImplementation("softmax", "three passes over each row: largest, sum, result",
                             {DType::kFp64, DType::kFp32, DType::kFp16, DType::kBf16}, Create);
}

}  // namespace kbench
