// cpu/naive null: does nothing. What a launch alone costs.
#include "kernels/cpu/implementations.h"
#include "kernels/cpu/naive.h"

namespace kbench {
namespace {

CreateResult Create(const Problem& problem, const OperandPointers& /*operands*/,
                    const DeviceContext& /*context*/) {
  return CreateNaive(problem, [](auto /*element*/) -> HostBody { return [] {}; });
}

}  // namespace

Implementation CpuNaiveNull() {
  return NaiveImplementation("null", "an empty function: the cost of a launch", {DType::kFp32},
                             Create);
}

}  // namespace kbench
