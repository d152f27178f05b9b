// cub sum: cub::DeviceReduce, the library to compare with. Raw pointers, so that CUB may load
// vectors; half types are turned into fp32 before they are added, through its transform.
#include <cub/device/device_reduce.cuh>
#include <cub/version.cuh>
#include <cuda/std/functional>
#include <memory>

#include "kernels/cuda/dtypes.h"
#include "kernels/cuda/element.cuh"
#include "kernels/cuda/implementations.h"

namespace kbench {
namespace cuda {
namespace {

template <typename E>
struct Widen {
  __device__ typename E::Compute operator()(typename E::Storage x) const { return E::Load(x); }
};

// With no workspace it only says how large one must be.
template <typename E>
cudaError_t Sum(void* workspace, std::size_t& bytes, const typename E::Storage* x,
                typename E::Compute* y, std::int64_t n, cudaStream_t stream) {
  using Compute = typename E::Compute;
  cudaGetLastError();  // CUB takes an error that an earlier call left behind for its own
  if constexpr (std::is_same_v<typename E::Storage, Compute>) {
    return cub::DeviceReduce::Sum(workspace, bytes, x, y, n, stream);
  } else {
    return cub::DeviceReduce::TransformReduce(workspace, bytes, x, y, n, ::cuda::std::plus<>{},
                                              Widen<E>{}, Compute{0}, stream);
  }
}

template <DType D>
CreateResult CreateAs(const Problem& problem, const OperandPointers& operands,
                      const DeviceContext& context) {
  using E = Element<D>;
  const std::int64_t n = problem.shape["n"];
  const auto* x = static_cast<const typename E::Storage*>(operands.inputs[0]);
  auto* y = static_cast<typename E::Compute*>(operands.output);
  const auto stream = static_cast<cudaStream_t>(context.stream);
  std::size_t bytes = 0;
  if (const cudaError_t error = Sum<E>(nullptr, bytes, x, y, n, stream); error != cudaSuccess) {
    return DeviceError("asking CUB for the size of its workspace", error);
  }
  auto workspace = std::make_shared<DeviceBuffer>();
  if (auto error = workspace->Allocate("CUB's workspace", static_cast<std::int64_t>(bytes))) {
    return *std::move(error);
  }
  DeviceBuffer scratch;
  if (auto error = scratch.Allocate("a result to throw away", sizeof(*y))) return *std::move(error);
  // Loads the kernels and asks what CUB asks of the device, so that no later launch has to.
  cudaError_t error =
      Sum<E>(workspace->as<void>(), bytes, x, scratch.as<typename E::Compute>(), n, stream);
  if (error == cudaSuccess) error = cudaStreamSynchronize(stream);
  if (error != cudaSuccess) return DeviceError("cub::DeviceReduce", error);
  ConfigurationMap configuration{
      {"library", "CUB " + std::to_string(CUB_MAJOR_VERSION) + "." +
                      std::to_string(CUB_MINOR_VERSION) + "." +
                      std::to_string(CUB_SUBMINOR_VERSION)},
      {"algorithm", std::is_same_v<typename E::Storage, typename E::Compute>
                        ? "cub::DeviceReduce::Sum"
                        : "cub::DeviceReduce::TransformReduce into fp32"},
      {"workspace_bytes", std::to_string(bytes)}};
  DeviceBody body = [=](cudaStream_t on) {
    std::size_t size = bytes;
    return Sum<E>(workspace->as<void>(), size, x, y, n, on);
  };
  return std::unique_ptr<Instance>(
      std::make_unique<DeviceInstance>(std::move(body), std::move(configuration)));
}

using Compiled = DTypes<DType::kFp64, DType::kFp32, DType::kFp16, DType::kBf16>;

CreateResult Create(const Problem& problem, const OperandPointers& operands,
                    const DeviceContext& context) {
  return Compiled::Create(problem.dtype, [&](auto dtype) {
    return CreateAs<decltype(dtype)::value>(problem, operands, context);
  });
}

}  // namespace
}  // namespace cuda

Implementation CubSum() {
  return {.name = "cub",
          .family = "cub",
          .kernel = "sum",
          .summary = "cub::DeviceReduce, NVIDIA's own reduction; half types accumulated in fp32",
          .dtypes = cuda::Compiled::List(),
          .default_choice = true,
          .create = cuda::Create};
}

}  // namespace kbench
