// cpu/naive chain: every element goes through all its steps in fp32, in one pass.
#include <cstdint>

#include "kernels/catalog/chain_steps.h"
#include "kernels/cpu/implementations.h"
#include "kernels/cpu/naive.h"

namespace kbench {
namespace {

CreateResult Create(const Problem& problem, const OperandPointers& operands,
                    const DeviceContext& /*context*/) {
  const std::int64_t n = problem.shape["n"];
  const int depth = static_cast<int>(problem.shape["depth"]);
  return CreateNaive(problem, [&](auto element) -> HostBody {
    using E = decltype(element);
    const auto* x = static_cast<const typename E::Storage*>(operands.inputs[0]);
    auto* y = static_cast<typename E::Storage*>(operands.output);
    return [=] {
      for (std::int64_t i = 0; i < n; ++i) y[i] = E::Store(Chain(depth, E::Load(x[i])));
    };
  });
}

}  // namespace

Implementation CpuNaiveChain() {
  return NaiveImplementation("chain", "all steps of an element in one pass",
                             {DType::kFp32, DType::kFp16, DType::kBf16}, Create);
}

}  // namespace kbench
