// What every CUDA implementation of ours shares: an instance that enqueues a body, device memory
// that frees itself, and CUDA's errors as ours. Host code; used from one thread, with the device of
// the context current.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "kernels/implementation.h"

namespace kbench::cuda {

using CreateResult = Expected<std::unique_ptr<Instance>, ImplementationError>;
using ConfigurationMap = std::map<std::string, std::string>;
// Enqueues one launch on the stream.
using DeviceBody = std::function<cudaError_t(cudaStream_t)>;

ImplementationError DeviceError(const std::string& what, cudaError_t error,
                                std::int64_t needed_bytes = 0);

// Device memory; empty until Allocate().
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  ~DeviceBuffer();

  // Nothing, or why there is no such memory.
  std::optional<ImplementationError> Allocate(const std::string& what, std::int64_t bytes);
  template <typename T>
  T* as() const {
    return static_cast<T*>(memory_);
  }

 private:
  void* memory_ = nullptr;
};

class DeviceInstance : public Instance {
 public:
  DeviceInstance(DeviceBody body, ConfigurationMap configuration)
      : body_(std::move(body)), configuration_(std::move(configuration)) {}

  int Launch(void* stream) noexcept override;
  std::string ErrorText(int error) const override;
  ConfigurationMap Configuration() const override { return configuration_; }

 private:
  DeviceBody body_;
  ConfigurationMap configuration_;
};

// What the current device is. Known without a context; zeros where there is no device.
struct DeviceTraits {
  int compute_capability = 0;  // 89, 90 ...
  int multiprocessors = 0;
  int shared_bytes_optin = 0;  // most dynamic shared memory a block may ask for
  int l2_bytes = 0;
};
const DeviceTraits& CurrentDevice();

// Why this device cannot run what needs compute capability `at_least` (or, `exactly`, code of one
// architecture such as sm_90a), or nothing. Nothing too where there is no device.
std::optional<std::string> NeedsCapability(int at_least, bool exactly = false);

// Why this device multiplies no matrices of the dtype, or nothing: tensor cores know fp8e4m3 from
// 8.9 on and int8 as we use it from 8.0 on, and a rung that every other lacks compares with
// nothing.
std::optional<std::string> MissingForProducts(DType dtype);

// How a kernel is launched.
struct Geometry {
  dim3 grid;
  dim3 block;
  std::size_t dynamic_shared_bytes = 0;
  unsigned cluster = 1;  // blocks along x that run together (compute capability 9.0 and up)
};

// `wanted` blocks, at most as many as a grid has: who may want more strides over them or refuses.
dim3 GridOf(std::int64_t wanted);

// Launches and returns this launch's own error, not one an earlier call left behind.
template <typename... Parameters, typename... Arguments>
cudaError_t LaunchKernel(const Geometry& geometry, cudaStream_t stream,
                         void (*kernel)(Parameters...), Arguments&&... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = geometry.grid;
  config.blockDim = geometry.block;
  config.dynamicSmemBytes = geometry.dynamic_shared_bytes;
  config.stream = stream;
  cudaLaunchAttribute cluster{};
  if (geometry.cluster > 1) {
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim.x = geometry.cluster;
    cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
    config.attrs = &cluster;
    config.numAttrs = 1;
  }
  return cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...);
}

// Loads the kernel onto the device, so that no launch has to (loading may wait for the device),
// allows it the dynamic shared memory, and adds what the compiler made of it to the configuration:
// block, grid, cluster, registers, static and dynamic shared memory, local memory (spills and
// arrays of a thread) and how many blocks a multiprocessor holds; and the kernel's name under
// kDeviceFunctionsKey, beside those loaded before it. Returns nothing, or why this device cannot
// run it.
std::optional<ImplementationError> LoadKernel(const void* kernel, const Geometry& geometry,
                                              ConfigurationMap& configuration);

// The usual end of a create function: an instance of one kernel.
template <typename... Parameters>
CreateResult CreateSingleKernel(void (*kernel)(Parameters...), const Geometry& geometry,
                                DeviceBody body) {
  ConfigurationMap configuration;
  if (std::optional<ImplementationError> error =
          LoadKernel(reinterpret_cast<const void*>(kernel), geometry, configuration)) {
    return *std::move(error);
  }
  return std::unique_ptr<Instance>(
      std::make_unique<DeviceInstance>(std::move(body), std::move(configuration)));
}

}  // namespace kbench::cuda
