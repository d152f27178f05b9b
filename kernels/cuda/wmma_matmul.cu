// cuda/wmma matmul: tensor cores through the fragments of nvcuda::wmma, the portable way to them.
#include "kernels/cuda/dtypes.h"
#include "kernels/cuda/implementations.h"
#include "kernels/cuda/matmul_extents.h"
#include "kernels/cuda/wmma_matmul.cuh"

namespace kbench {
namespace cuda {
namespace {

template <DType D>
auto KernelFor(const std::string& layout) {
  if (layout == "nn") return WmmaKernel<D, false, false>;
  if (layout == "nt") return WmmaKernel<D, false, true>;
  if (layout == "tn") return WmmaKernel<D, true, false>;
  return WmmaKernel<D, true, true>;
}

template <DType D>
CreateResult CreateAs(const Problem& problem, const OperandPointers& operands) {
  using T = WmmaTile<D>;
  using Storage = typename T::Storage;
  const std::int64_t m = problem.shape["m"], n = problem.shape["n"], k = problem.shape["k"];
  const auto operand = [&](int index, std::int64_t lines, bool depth_contiguous) {
    const auto* data = static_cast<const Storage*>(operands.inputs[index]);
    const std::int64_t pitch = depth_contiguous ? k : lines;
    const bool whole_words =
        reinterpret_cast<std::uintptr_t>(data) % 16 == 0 && pitch % T::kWord == 0;
    return WmmaOperand<Storage>{data, static_cast<int>(lines), static_cast<int>(k), whole_words};
  };
  const auto a = operand(0, m, problem.shape.layout[0] == 'n');
  const auto b = operand(1, n, problem.shape.layout[1] == 't');
  auto* c = static_cast<Storage*>(operands.output);
  const std::int64_t tiles = ((m + T::kBlock - 1) / T::kBlock) * ((n + T::kBlock - 1) / T::kBlock);
  const Geometry geometry{GridOf(tiles), dim3(T::kThreads), T::kSharedBytes};
  const auto kernel = KernelFor<D>(problem.shape.layout);
  ConfigurationMap configuration;
  if (auto error = LoadKernel(reinterpret_cast<const void*>(kernel), geometry, configuration)) {
    return *std::move(error);
  }
  configuration["tile"] = std::to_string(T::kBlock) + "x" + std::to_string(T::kBlock) + "x" +
                          std::to_string(T::kDepth) + ",stages=" + std::to_string(T::kStages);
  configuration["fragment"] =
      std::to_string(T::kM) + "x" + std::to_string(T::kN) + "x" + std::to_string(T::kK);
  configuration["bytes_a_copy"] = std::to_string(a.whole_words ? 16 : sizeof(Storage)) + " of a, " +
                                  std::to_string(b.whole_words ? 16 : sizeof(Storage)) + " of b";
  DeviceBody body = [=](cudaStream_t stream) {
    return LaunchKernel(geometry, stream, kernel, a, b, c);
  };
  return std::unique_ptr<Instance>(
      std::make_unique<DeviceInstance>(std::move(body), std::move(configuration)));
}

using Compiled = DTypes<DType::kFp64, DType::kTf32, DType::kFp16, DType::kBf16>;

CreateResult Create(const Problem& problem, const OperandPointers& operands,
                    const DeviceContext& /*context*/) {
  return Compiled::Create(problem.dtype, [&](auto dtype) {
    return CreateAs<decltype(dtype)::value>(problem, operands);
  });
}

std::optional<std::string> DTypeMissing(DType /*dtype*/) { return NeedsCapability(80); }

}  // namespace
}  // namespace cuda

Implementation CudaWmmaMatmul() {
  return {.name = "cuda/wmma",
          .family = "cuda",
          .kernel = "matmul",
          .summary = "tensor cores through nvcuda::wmma, tiles staged in shared memory",
          .dtypes = cuda::Compiled::List(),
          .dtype_missing = cuda::DTypeMissing,
          .default_choice = true,
          .rung = 3,
          .unsupported = cuda::TooLongFor32Bits,
          .create = cuda::Create};
}

}  // namespace kbench
