// A GPU or a MIG slice as a device: identity through NVML, no CUDA.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "worker/device/device.h"

namespace kbench {

// `spec`: an index, GPU-<uuid> or MIG-<uuid>.
absl::StatusOr<OpenedDevice> OpenGpu(const std::string& spec, const std::string& nvml_path,
                                     const std::string& kernel_driver);

}  // namespace kbench
