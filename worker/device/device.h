// The one device a worker owns: what it is, how its runners are pinned, and what it says while
// they run. OpenDevice() is called once from main(); the monitor is used by the case thread and the
// heartbeat, and is thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kbench/v1/device.pb.h"
#include "kbench/v1/result.pb.h"
#include "worker/device/driver_versions.h"

namespace kbench {

inline constexpr char kNvmlLibrary[] = "libnvidia-ml.so.1";

struct DeviceFacts {
  // Identity, memory, peaks, settings; no name, worker or implementations yet.
  v1::Device device;
  std::string default_name;  // "cpu", "gpu0"
  // One file name part for each thing that must be locked: "GPU-...", or "cpu0", "cpu1", ...
  std::vector<std::string> lock_keys;
  std::string key;  // stable over restarts, unique on this host: "GPU-<uuid>", "cpu:0-3"
  // Where runners may run; empty: anywhere.
  std::vector<int> cpus;
  std::map<std::string, std::string> runner_env;
  // EXCLUSIVE_PROCESS: only one process may hold a context.
  bool exclusive = false;
};

// A process on the device that this worker did not start.
struct ForeignProcess {
  int pid = 0;
  std::string user;     // empty where this worker cannot see the process (another container)
  std::string command;  // the same
  // Share of the device's time it computed since the last look, 0 to 1; -1 where the driver does
  // not tell.
  double utilization = -1;
  std::int64_t memory_bytes = 0;  // on the device; 0 where the driver does not tell
};

// What broke on the device, as its driver reports it.
struct ObservedFault {
  std::string kind;     // XID, ECC
  std::string message;  // one sentence with the figures
};

enum class DriverState {
  kFine,
  kMismatch,  // upgraded without a restart of the machine: no new runner can use the device
  kStale,     // new processes could use it, this one cannot: its library is the old one
};

class DeviceMonitor {
 public:
  virtual ~DeviceMonitor() = default;
  // The device's state now, for a heartbeat.
  virtual v1::Telemetry Now() = 0;
  // The driver's counters since it was loaded; nothing where there are none.
  virtual v1::DeviceTotals Totals() { return {}; }
  // Watches from Begin() to End(): mean clocks and power, hottest temperature, all throttle
  // reasons and the seconds they took, new ECC errors, energy, and what others did meanwhile
  // (their state may be half a second old).
  virtual void Begin() = 0;
  virtual v1::Telemetry End() = 0;
  // OK when the device answers; UNAVAILABLE when it does not within its deadline.
  virtual absl::Status Check() = 0;
  // Processes that may compute on the device.
  virtual void SetOwnProcesses(const std::vector<int>& pids) = 0;
  // Who else is on the device, and what they computed since the last call (at least one second is
  // looked at). Empty where a device cannot tell its users apart, as a CPU.
  virtual std::vector<ForeignProcess> Foreign() { return {}; }
  // Faults since the last call.
  virtual std::vector<ObservedFault> NewFaults() { return {}; }
  // Whether the driver in the kernel and its library fit; the message of kMismatch names both
  // versions where they are known.
  virtual DriverState Driver(std::string* /*message*/) { return DriverState::kFine; }
  // The same as it was last seen, by whatever looked. Never asks the device: may be called while
  // one is measured.
  virtual std::vector<ForeignProcess> LastForeign() { return {}; }
};

struct OpenedDevice {
  DeviceFacts facts;
  std::unique_ptr<DeviceMonitor> monitor;
};

// `spec`: cpu, cpu:0-3, a GPU's index, GPU-<uuid>, MIG-<uuid>. Errors are one line that names what
// exists; a driver that does not fit its library is told as driver_versions.h says. `nvml` is the
// driver's management library, `kernel_driver` where the kernel tells its version.
absl::StatusOr<OpenedDevice> OpenDevice(const std::string& spec,
                                        const std::string& nvml = kNvmlLibrary,
                                        const std::string& kernel_driver = kKernelDriverFile);

}  // namespace kbench
