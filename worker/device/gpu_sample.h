// What NVML says about a GPU at one moment, as plain values. The calls may hang on a sick driver:
// run them on a DeadlineThread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "worker/device/nvml_library.h"

namespace kbench {

// Quick: a few microseconds to a few hundred.
struct GpuSample {
  double sm_hertz = 0;
  double memory_hertz = 0;
  double celsius = 0;
  double watts = 0;
  unsigned long long reasons = 0;  // nvmlClocksEventReason bits
};
GpuSample TakeGpuSample(const Nvml& nvml, nvmlDevice_t board);

// Counters of the driver since it was loaded; absent ones are not there.
struct GpuCounters {
  std::map<std::string, double> throttle_seconds;  // by reason, as ReasonNames() calls it
  double energy_joules = -1;
  double ecc_errors = -1;  // uncorrected, volatile
};
GpuCounters ReadGpuCounters(const Nvml& nvml, nvmlDevice_t board);

struct GpuProcess {
  unsigned pid = 0;
  std::int64_t memory_bytes = 0;  // 0 where the driver does not tell
};

// Slow: milliseconds on a card with many processes.
struct GpuUsers {
  std::vector<GpuProcess> processes;  // with a compute context, on the slice where there is one
  bool utilization_known = false;
  std::map<unsigned, double> utilization;  // 0 to 1 by process; those that computed nothing miss
  int busy_siblings = 0;                   // other slices of the board with a process
};
// Utilisation since `since_micros` (wall time).
GpuUsers ReadGpuUsers(const Nvml& nvml, nvmlDevice_t board, nvmlDevice_t slice,
                      unsigned long long since_micros);

// "POWER_CAP", "SW_THERMAL", "HW_THERMAL", "POWER_BRAKE", "APPLICATION_CLOCKS", "SYNC_BOOST".
std::vector<std::string> ReasonNames(unsigned long long bits);

}  // namespace kbench
