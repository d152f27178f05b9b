#include "kernels/cuda/device_instance.h"

#include <algorithm>

namespace kbench::cuda {
namespace {

std::string Text(dim3 extents) {
  std::string text = std::to_string(extents.x);
  if (extents.y > 1 || extents.z > 1) text += "x" + std::to_string(extents.y);
  if (extents.z > 1) text += "x" + std::to_string(extents.z);
  return text;
}

}  // namespace

ImplementationError DeviceError(const std::string& what, cudaError_t error,
                                std::int64_t needed_bytes) {
  using Kind = ImplementationError::Kind;
  cudaGetLastError();  // so that no later call reports it
  if (error == cudaErrorNoKernelImageForDevice || error == cudaErrorUnsupportedPtxVersion) {
    return {Kind::kUnsupported,
            what + ": this build has no code for this GPU; configure it with " +
                "-DKBENCH_CUDA_ARCHITECTURES=<its compute capability>",
            0};
  }
  const bool memory = error == cudaErrorMemoryAllocation;
  return {memory ? Kind::kOutOfMemory : Kind::kDeviceError,
          what + ": " + cudaGetErrorName(error) + ": " + cudaGetErrorString(error),
          memory ? needed_bytes : 0};
}

DeviceBuffer::~DeviceBuffer() {
  if (memory_ != nullptr) cudaFree(memory_);
}

std::optional<ImplementationError> DeviceBuffer::Allocate(const std::string& what,
                                                          std::int64_t bytes) {
  const cudaError_t error = cudaMalloc(&memory_, static_cast<std::size_t>(bytes));
  if (error == cudaSuccess) return std::nullopt;
  return DeviceError(what + " of " + std::to_string(bytes) + " bytes", error, bytes);
}

int DeviceInstance::Launch(void* stream) noexcept {
  return body_(static_cast<cudaStream_t>(stream));
}

std::string DeviceInstance::ErrorText(int error) const {
  const auto code = static_cast<cudaError_t>(error);
  return std::string(cudaGetErrorName(code)) + ": " + cudaGetErrorString(code);
}

dim3 GridOf(std::int64_t wanted) {
  constexpr std::int64_t kMost = 0x7fffffff;
  return dim3(static_cast<unsigned>(std::clamp<std::int64_t>(wanted, 1, kMost)));
}

std::optional<ImplementationError> LoadKernel(const void* kernel, const Geometry& geometry,
                                              ConfigurationMap& configuration) {
  cudaFuncAttributes attributes{};
  if (const cudaError_t error = cudaFuncGetAttributes(&attributes, kernel); error != cudaSuccess) {
    return DeviceError("loading the kernel", error);
  }
  configuration["grid"] = Text(geometry.grid);
  configuration["block"] = Text(geometry.block);
  configuration["registers"] = std::to_string(attributes.numRegs);
  configuration["shared_bytes"] =
      std::to_string(attributes.sharedSizeBytes + geometry.dynamic_shared_bytes);
  configuration["local_bytes"] = std::to_string(attributes.localSizeBytes);
  return std::nullopt;
}

}  // namespace kbench::cuda
