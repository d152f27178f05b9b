// A GPU's telemetry through NVML: sampled at about 20 Hz between Begin() and End() by a thread that
// sleeps otherwise.
#pragma once

#include <memory>

#include "worker/device/deadline_thread.h"
#include "worker/device/device.h"
#include "worker/device/nvml_library.h"

namespace kbench {

std::unique_ptr<DeviceMonitor> MakeGpuMonitor(std::shared_ptr<const Nvml> nvml, nvmlDevice_t board,
                                              std::shared_ptr<DeadlineThread> thread);

}  // namespace kbench
