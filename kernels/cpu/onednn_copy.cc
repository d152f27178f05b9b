// cpu/onednn copy: a reorder from a layout to the same one.
#include <memory>

#include "kernels/cpu/implementations.h"
#include "kernels/cpu/onednn.h"
#include "kernels/cpu/threads.h"

namespace kbench {
namespace {

std::optional<std::string> Unsupported(const Problem& problem) {
  return OnednnUnsupported(
      [&]() -> dnnl::primitive_desc_base { return OnednnCopy(problem.shape["n"]); });
}

CreateResult Create(const Problem& problem, const OperandPointers& operands,
                    const DeviceContext& context) {
  const int threads = context.threads;
  return CreateGuarded(0, [&]() -> std::unique_ptr<Instance> {
    UseOpenMpThreads(threads);
    const auto descriptor = OnednnCopy(problem.shape["n"]);
    auto call = std::make_shared<OnednnCall>(
        dnnl::reorder(descriptor), descriptor,
        std::unordered_map<int, const void*>{{DNNL_ARG_SRC, operands.inputs[0]},
                                             {DNNL_ARG_DST, operands.output}});
    return OnednnInstance(descriptor, std::move(call), threads);
  });
}

}  // namespace

Implementation CpuOnednnCopy() {
  return {.name = "cpu/onednn",
          .family = "cpu",
          .kernel = "copy",
          .summary = "oneDNN reorder between equal layouts",
          .dtypes = {DType::kFp32},
          .default_choice = true,
          .unsupported = Unsupported,
          .create = Create};
}

}  // namespace kbench
