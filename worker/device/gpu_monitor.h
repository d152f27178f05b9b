// A GPU's telemetry through NVML. Clocks, power, temperature and event reasons are sampled at about
// 20 Hz between Begin() and End() by a thread that sleeps otherwise; the driver's counters are read
// at both ends; what others do on the device is asked for at most twice a second, and never while a
// burst runs (between Begin() and End()): those calls take milliseconds.
#pragma once

#include <memory>
#include <string>

#include "worker/device/deadline_thread.h"
#include "worker/device/device.h"
#include "worker/device/nvml_library.h"

namespace kbench {

// `kernel_driver`: where the kernel tells the driver's version.
// `slice` is the MIG slice on the board that is watched, or null for the whole board.
std::unique_ptr<DeviceMonitor> MakeGpuMonitor(std::shared_ptr<const Nvml> nvml, nvmlDevice_t board,
                                              nvmlDevice_t slice,
                                              std::shared_ptr<DeadlineThread> thread,
                                              const std::string& kernel_driver);

}  // namespace kbench
