// cpu/openblas matmul in fp32 and fp64, and cpu/openblas-via-fp32 for the half types it lacks.
#include <cblas.h>

#include <memory>

#include "kernels/cpu/half_scratch.h"
#include "kernels/cpu/implementations.h"
#include "kernels/cpu/openblas.h"
#include "kernels/cpu/threads.h"

namespace kbench {
namespace {

CBLAS_TRANSPOSE Operation(bool transposed) { return transposed ? CblasTrans : CblasNoTrans; }

void Gemm(const MatmulOperands& s, const float* a, const float* b, float* c) {
  cblas_sgemm(CblasRowMajor, Operation(s.transposed_a), Operation(s.transposed_b),
              static_cast<blasint>(s.m), static_cast<blasint>(s.n), static_cast<blasint>(s.k), 1.0f,
              a, static_cast<blasint>(s.leading_a()), b, static_cast<blasint>(s.leading_b()), 0.0f,
              c, static_cast<blasint>(s.n));
}

void Gemm(const MatmulOperands& s, const double* a, const double* b, double* c) {
  cblas_dgemm(CblasRowMajor, Operation(s.transposed_a), Operation(s.transposed_b),
              static_cast<blasint>(s.m), static_cast<blasint>(s.n), static_cast<blasint>(s.k), 1.0,
              a, static_cast<blasint>(s.leading_a()), b, static_cast<blasint>(s.leading_b()), 0.0,
              c, static_cast<blasint>(s.n));
}

template <typename T>
HostBody NativeBody(const MatmulOperands& shape, const OperandPointers& operands, int threads) {
  const auto* a = static_cast<const T*>(operands.inputs[0]);
  const auto* b = static_cast<const T*>(operands.inputs[1]);
  auto* c = static_cast<T*>(operands.output);
  return [=] {
    UseOpenBlasThreads(threads);
    Gemm(shape, a, b, c);
  };
}

CreateResult CreateNative(const Problem& problem, const OperandPointers& operands,
                          const DeviceContext& context) {
  return CreateGuarded(0, [&]() -> std::unique_ptr<Instance> {
    const MatmulOperands shape(problem.shape);
    const int threads = UseOpenBlasThreads(context.threads);
    HostBody body = problem.dtype == DType::kFp64
                        ? NativeBody<double>(shape, operands, context.threads)
                        : NativeBody<float>(shape, operands, context.threads);
    return std::make_unique<HostInstance>(std::move(body), OpenBlasConfiguration(threads));
  });
}

CreateResult CreateViaFp32(const Problem& problem, const OperandPointers& operands,
                           const DeviceContext& context) {
  const MatmulOperands shape(problem.shape);
  const std::int64_t needed = HalfMatmulScratch::NeededBytes(shape);
  return CreateGuarded(needed, [&]() -> std::unique_ptr<Instance> {
    const int threads = context.threads;
    auto scratch = std::make_shared<HalfMatmulScratch>(problem.dtype, shape, operands, threads);
    ConfigurationMap configuration = OpenBlasConfiguration(UseOpenBlasThreads(threads));
    configuration["conversion"] = ConversionPath();
    configuration["scratch_bytes"] = std::to_string(needed);
    return std::make_unique<HostInstance>(
        [=] {
          UseOpenBlasThreads(threads);
          scratch->WidenInputs();
          Gemm(shape, scratch->a(), scratch->b(), scratch->c());
          scratch->NarrowOutput();
        },
        std::move(configuration));
  });
}

}  // namespace

Implementation CpuOpenBlasMatmul() {
  return {.name = "cpu/openblas",
          .family = "cpu",
          .kernel = "matmul",
          .summary = "OpenBLAS gemm",
          .dtypes = {DType::kFp64, DType::kFp32},
          .default_choice = true,
          .unsupported = OpenBlasExtentError,
          .create = CreateNative};
}

Implementation CpuOpenBlasMatmulViaFp32() {
  return {
      .name = "cpu/openblas-via-fp32",
      .family = "cpu",
      .kernel = "matmul",
      .summary = "inputs widened to fp32, OpenBLAS sgemm, output rounded; all inside the window",
      .dtypes = {DType::kFp16, DType::kBf16},
      .default_choice = true,
      .unsupported = OpenBlasExtentError,
      .create = CreateViaFp32};
}

}  // namespace kbench
