// cpu/onednn sum: oneDNN reductions. One reduction to a single element would run on one thread and
// add its whole input into a few fp32 lanes, so rows are summed first, and then the row sums.
#include <memory>
#include <vector>

#include "kernels/cpu/implementations.h"
#include "kernels/cpu/onednn.h"
#include "kernels/cpu/threads.h"

namespace kbench {
namespace {

constexpr std::int64_t kRow = 8192;

struct Plan {
  std::vector<OnednnCall> calls;
  std::vector<HostBuffer> partial_sums;
  std::string algorithm;
  std::int64_t scratch_bytes = 0;

  void RowSums(std::int64_t rows, std::int64_t cols, const float* from, float* to) {
    const auto descriptor = OnednnRowSums(rows, cols);
    calls.emplace_back(
        dnnl::reduction(descriptor), descriptor,
        std::unordered_map<int, const void*>{{DNNL_ARG_SRC, from}, {DNNL_ARG_DST, to}});
    scratch_bytes += calls.back().scratch_bytes();
    algorithm = descriptor.impl_info_str();
  }
};

// Whole rows, the last of them longer by what is left over, and then their sums the same way.
void Describe(std::int64_t n, const float* x, float* y, Plan& plan) {
  while (n >= 2 * kRow) {
    const std::int64_t sums = n / kRow;
    const std::int64_t rest = n % kRow;
    const std::int64_t rows = rest == 0 ? sums : sums - 1;
    auto* to = plan.partial_sums.emplace_back(4 * sums).as<float>();
    plan.scratch_bytes += 4 * sums;
    plan.RowSums(rows, kRow, x, to);
    if (rest > 0) plan.RowSums(1, kRow + rest, x + rows * kRow, to + rows);
    x = to;
    n = sums;
  }
  plan.RowSums(1, n, x, y);
}

std::optional<std::string> Unsupported(const Problem& problem) {
  if (problem.shape["n"] == 1) return "oneDNN reduces at least 2 elements, not 1";
  return OnednnUnsupported([&]() -> dnnl::primitive_desc_base {
    return OnednnRowSums(1, std::min(kRow, problem.shape["n"]));
  });
}

CreateResult Create(const Problem& problem, const OperandPointers& operands,
                    const DeviceContext& context) {
  const int threads = context.threads;
  const std::int64_t n = problem.shape["n"];
  return CreateGuarded(4 * (n / kRow + 1), [&]() -> std::unique_ptr<Instance> {
    UseOpenMpThreads(threads);
    auto plan = std::make_shared<Plan>();
    Describe(n, static_cast<const float*>(operands.inputs[0]), static_cast<float*>(operands.output),
             *plan);
    ConfigurationMap configuration =
        OnednnConfiguration(OnednnRowSums(1, std::min(kRow, n)), threads, plan->scratch_bytes);
    configuration["reductions"] = std::to_string(plan->calls.size());
    return std::make_unique<HostInstance>(
        [=] {
          UseOpenMpThreads(threads);
          for (OnednnCall& call : plan->calls) call.Run();
        },
        std::move(configuration));
  });
}

}  // namespace

Implementation CpuOnednnSum() {
  return {.name = "cpu/onednn",
          .family = "cpu",
          .kernel = "sum",
          .summary = "oneDNN reductions: rows of 8192 first, then their sums",
          .dtypes = {DType::kFp32},
          .default_choice = true,
          .unsupported = Unsupported,
          .create = Create};
}

}  // namespace kbench
