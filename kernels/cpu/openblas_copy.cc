// cpu/openblas copy: level-1 scopy and dcopy, in pieces that its 32-bit interface can count.
#include <cblas.h>

#include <algorithm>
#include <memory>

#include "kernels/cpu/implementations.h"
#include "kernels/cpu/openblas.h"
#include "kernels/cpu/threads.h"

namespace kbench {
namespace {

constexpr std::int64_t kPiece = std::int64_t{1} << 30;

void Copy(std::int64_t n, const float* x, float* y) {
  cblas_scopy(static_cast<blasint>(n), x, 1, y, 1);
}

void Copy(std::int64_t n, const double* x, double* y) {
  cblas_dcopy(static_cast<blasint>(n), x, 1, y, 1);
}

template <typename T>
HostBody CopyBody(std::int64_t n, const OperandPointers& operands, int threads) {
  const auto* x = static_cast<const T*>(operands.inputs[0]);
  auto* y = static_cast<T*>(operands.output);
  return [=] {
    UseOpenBlasThreads(threads);
    for (std::int64_t i = 0; i < n; i += kPiece) Copy(std::min(kPiece, n - i), x + i, y + i);
  };
}

CreateResult Create(const Problem& problem, const OperandPointers& operands,
                    const DeviceContext& context) {
  return CreateGuarded(0, [&]() -> std::unique_ptr<Instance> {
    const std::int64_t n = problem.shape["n"];
    const int threads = UseOpenBlasThreads(context.threads);
    HostBody body = problem.dtype == DType::kFp64 ? CopyBody<double>(n, operands, context.threads)
                                                  : CopyBody<float>(n, operands, context.threads);
    return std::make_unique<HostInstance>(std::move(body), OpenBlasConfiguration(threads));
  });
}

}  // namespace

Implementation CpuOpenBlasCopy() {
  return {.name = "cpu/openblas",
          .family = "cpu",
          .kernel = "copy",
          .summary = "OpenBLAS scopy or dcopy",
          .dtypes = {DType::kFp64, DType::kFp32},
          .default_choice = true,
          .unsupported = nullptr,
          .create = Create};
}

}  // namespace kbench
