// cpu/naive copy: x -> y, bytes as they are.
#include <cstring>
#include <memory>

#include "kernels/cpu/implementations.h"
#include "kernels/cpu/naive.h"

namespace kbench {
namespace {

CreateResult Create(const Problem& problem, const OperandPointers& operands,
                    const DeviceContext& /*context*/) {
  const void* x = operands.inputs[0];
  void* y = operands.output;
  const std::size_t bytes =
      static_cast<std::size_t>(problem.shape["n"]) * Info(problem.dtype).storage_bytes;
  return CreateGuarded(0, [=]() -> std::unique_ptr<Instance> {
    return std::make_unique<HostInstance>([=] { std::memcpy(y, x, bytes); },
                                          ConfigurationMap{{"threads", "1"}});
  });
}

}  // namespace

Implementation CpuNaiveCopy() {
  return NaiveImplementation("copy", "one memcpy on one thread",
                             {DType::kFp64, DType::kFp32, DType::kFp16, DType::kBf16, DType::kInt8},
                             Create);
}

}  // namespace kbench
