// OpenDevice() of libkbench-engine-cuda.so: the CPU and the first visible GPU.
#include "worker/engine/cpu_device.h"
#include "worker/engine/cuda_device.h"
#include "worker/engine/device.h"

namespace kbench::engine {

OpenedDevice OpenDevice(const std::string& name, int threads) {
  if (name == "cpu") return {std::make_unique<CpuDevice>(threads), {}};
  if (name != "cuda") {
    return {nullptr,
            {KB_INVALID_ARGUMENT, "this engine has no device '" + name + "': it has cpu and cuda"}};
  }
  auto device = std::make_unique<CudaDevice>(threads);
  if (EngineError error = device->Open()) return {nullptr, error};
  return {std::move(device), {}};
}

}  // namespace kbench::engine
