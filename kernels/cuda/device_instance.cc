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

// Adds the kernel's name to those that are known, once. Without one its code is not found: no more.
void AddName(const void* kernel, ConfigurationMap& configuration) {
  const char* name = nullptr;
  if (cudaFuncGetName(&name, kernel) != cudaSuccess || name == nullptr) {
    cudaGetLastError();
    return;
  }
  std::string& names = configuration[kDeviceFunctionsKey];
  if ((" " + names + " ").find(" " + std::string(name) + " ") != std::string::npos) return;
  names += (names.empty() ? "" : " ") + std::string(name);
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

const DeviceTraits& CurrentDevice() {
  static const DeviceTraits traits = [] {
    DeviceTraits found;
    int device = 0, major = 0, minor = 0;
    if (cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess) {
      cudaGetLastError();
      return found;
    }
    cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
    cudaDeviceGetAttribute(&found.multiprocessors, cudaDevAttrMultiProcessorCount, device);
    cudaDeviceGetAttribute(&found.shared_bytes_optin, cudaDevAttrMaxSharedMemoryPerBlockOptin,
                           device);
    cudaDeviceGetAttribute(&found.l2_bytes, cudaDevAttrL2CacheSize, device);
    found.compute_capability = 10 * major + minor;
    return found;
  }();
  return traits;
}

std::optional<std::string> NeedsCapability(int at_least, bool exactly) {
  const int have = CurrentDevice().compute_capability;
  if (have == 0 || (exactly ? have == at_least : have >= at_least)) return std::nullopt;
  const auto text = [](int capability) {
    return std::to_string(capability / 10) + "." + std::to_string(capability % 10);
  };
  return "needs compute capability " + text(at_least) + (exactly ? "" : " or higher") +
         "; this GPU has " + text(have);
}

std::optional<std::string> MissingForProducts(DType dtype) {
  if (dtype == DType::kFp8E4M3) return NeedsCapability(89);
  if (dtype == DType::kInt8) return NeedsCapability(80);
  return std::nullopt;
}

std::optional<ImplementationError> LoadKernel(const void* kernel, const Geometry& geometry,
                                              ConfigurationMap& configuration) {
  const std::size_t dynamic = geometry.dynamic_shared_bytes;
  cudaFuncAttributes attributes{};
  cudaError_t error = cudaFuncGetAttributes(&attributes, kernel);
  if (error == cudaSuccess && dynamic > 0) {
    error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 static_cast<int>(dynamic));
  }
  if (error == cudaSuccess && geometry.cluster > 8) {
    error = cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
  }
  int resident = 0;
  const auto threads = static_cast<int>(geometry.block.x * geometry.block.y * geometry.block.z);
  if (error == cudaSuccess) {
    error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, threads, dynamic);
  }
  if (error != cudaSuccess) return DeviceError("loading the kernel", error);
  configuration["grid"] = Text(geometry.grid);
  configuration["block"] = Text(geometry.block);
  if (geometry.cluster > 1) configuration["cluster"] = std::to_string(geometry.cluster);
  configuration["registers"] = std::to_string(attributes.numRegs);
  configuration["static_shared_bytes"] = std::to_string(attributes.sharedSizeBytes);
  configuration["dynamic_shared_bytes"] = std::to_string(dynamic);
  configuration["local_bytes"] = std::to_string(attributes.localSizeBytes);
  configuration["blocks_per_multiprocessor"] = std::to_string(resident);
  AddName(kernel, configuration);
  return std::nullopt;
}

}  // namespace kbench::cuda
