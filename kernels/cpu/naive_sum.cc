// cpu/naive sum: x[n] -> one element, fp32 for the half types.
#include <cstdint>
#include <type_traits>

#include "kernels/cpu/accumulate.h"
#include "kernels/cpu/implementations.h"
#include "kernels/cpu/naive.h"

namespace kbench {
namespace {

CreateResult Create(const Problem& problem, const OperandPointers& operands,
                    const DeviceContext& /*context*/) {
  const std::int64_t n = problem.shape["n"];
  return CreateNaive(problem, [&](auto element) -> HostBody {
    using E = decltype(element);
    const auto* x = static_cast<const typename E::Storage*>(operands.inputs[0]);
    // The output is as wide as the accumulator.
    auto* y = static_cast<typename E::Compute*>(operands.output);
    return [=] {
      *y = PairwiseSum<typename E::Compute>(0, n, [x](std::int64_t i) { return E::Load(x[i]); });
    };
  });
}

}  // namespace

Implementation CpuNaiveSum() {
  return NaiveImplementation("sum", "blocks added in order, block sums pairwise",
                             {DType::kFp64, DType::kFp32, DType::kFp16, DType::kBf16}, Create);
}

}  // namespace kbench
