// The CPU as a device: identity from /proc and /sys, pinned by a list of CPUs. Peaks stay unknown:
// clocks under wide vectors and the number of FMA units cannot be read off a machine, so a share of
// peak would be invented.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "worker/device/device.h"

namespace kbench {

// `list` empty: every CPU this process may use.
absl::StatusOr<OpenedDevice> OpenCpu(const std::string& list);

// Bytes that new processes could allocate without swapping (MemAvailable); 0 when unknown.
std::int64_t AvailableHostMemory();

// Watches a set of CPUs through the text of /proc/stat. `proc` is "/proc" except in tests.
std::unique_ptr<DeviceMonitor> MakeCpuMonitor(std::vector<int> cpus,
                                              const std::string& proc = "/proc");

}  // namespace kbench
