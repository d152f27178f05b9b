// Devices and their workers.
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "proto/support/clock.h"
#include "server/metrics/family.h"
#include "server/metrics/live_state.h"

namespace kbench::metrics {
namespace {

using kbench::v1::Device;
using prometheus::MetricFamily;

constexpr const char* kDeviceStates[] = {"CALIBRATING", "READY",   "BUSY",        "HELD",
                                         "DRAINING",    "DRAINED", "QUARANTINED", "OFFLINE",
                                         "WEDGED",      "FAILED"};
constexpr const char* kBlocks[] = {"drain", "quarantine", "hold"};

struct TelemetryGauge {
  const char* name;
  const char* help;
  double (*value)(const kbench::v1::Telemetry&);
  bool zero_is_unknown;
};

using kbench::v1::Telemetry;

const TelemetryGauge kTelemetry[] = {
    {"kbench_device_clock_hertz", "Clock of the SMs, or the mean clock of the CPU's cores.",
     [](const Telemetry& t) { return t.sm_clock_hertz(); }, true},
    {"kbench_device_memory_clock_hertz", "Clock of the device's memory.",
     [](const Telemetry& t) { return t.memory_clock_hertz(); }, true},
    {"kbench_device_temperature_celsius", "Temperature of the device.",
     [](const Telemetry& t) { return t.temperature_celsius(); }, true},
    {"kbench_device_power_watts", "Power the device draws.",
     [](const Telemetry& t) { return t.power_watts(); }, true},
    {"kbench_device_foreign_processes", "Processes on the device that kbench did not start.",
     [](const Telemetry& t) { return static_cast<double>(t.foreign_processes()); }, false},
    {"kbench_device_steal_ratio", "Share of the CPU's time that the hypervisor took.",
     [](const Telemetry& t) { return t.steal_ratio(); }, false},
    {"kbench_device_load", "Processes of others that wait for the CPU.",
     [](const Telemetry& t) { return t.load(); }, false},
};

void AddDeviceState(const std::vector<Device>& devices, std::vector<MetricFamily>& families) {
  MetricFamily info = MakeGauge("kbench_device_info", "Facts about a device; the value is 1.");
  MetricFamily state =
      MakeGauge("kbench_device_state", "1 for the state the device is in, else 0.");
  MetricFamily up = MakeGauge("kbench_worker_up", "1 while the worker of the device is connected.");
  MetricFamily seen = MakeGauge("kbench_worker_last_heartbeat_timestamp_seconds",
                                "When the worker of the device was last heard; absent while it has "
                                "not come back since the coordinator's start.");
  for (const Device& device : devices) {
    Add(info,
        {{"device", device.name()},
         {"kind", device.kind()},
         {"model", device.model()},
         {"architecture", device.architecture()},
         {"uuid", device.uuid()},
         {"driver", device.driver()},
         {"epoch", device.environment_epoch()},
         {"hostname", device.hostname()}},
        1);
    for (const char* name : kDeviceStates) {
      Add(state, {{"device", device.name()}, {"state", name}}, device.state() == name ? 1 : 0);
    }
    // A worker that is there may say itself that its device is not (DRIVER_MISMATCH).
    const bool is_up = device.state() != "OFFLINE" || device.state_reason() == "DRIVER_MISMATCH";
    Add(up, {{"device", device.name()}}, is_up ? 1 : 0);
    if (!device.has_last_heartbeat_time()) continue;
    Add(seen, {{"device", device.name()}},
        static_cast<double>(ToMicros(device.last_heartbeat_time())) * 1e-6);
  }
  for (MetricFamily* family : {&info, &state, &up, &seen}) Keep(std::move(*family), families);
}

// What of the device others use, and what keeps new work from it.
void AddUse(const LiveState& state, std::vector<MetricFamily>& families) {
  MetricFamily blocked =
      MakeGauge("kbench_device_blocked", "1 while the device takes nothing new for this reason.");
  MetricFamily quarantine = MakeGauge("kbench_device_quarantine_info",
                                      "Why the device is in quarantine now; the value is 1.");
  MetricFamily utilization =
      MakeGauge("kbench_device_foreign_utilization_ratio",
                "Share of the device's time that processes of others had, as far as it is told.");
  MetricFamily memory = MakeGauge("kbench_device_foreign_memory_bytes",
                                  "Memory of the device that processes of others hold.");
  for (const Device& device : state.devices) {
    const auto found = state.blocks.find(device.name());
    for (const char* kind : kBlocks) {
      const bool stands = found != state.blocks.end() && found->second.count(kind) > 0;
      Add(blocked, {{"device", device.name()}, {"kind", kind}}, stands ? 1 : 0);
    }
    if (const auto why = state.quarantines.find(device.name()); why != state.quarantines.end()) {
      Add(quarantine, {{"device", device.name()}, {"reason", why->second}}, 1);
    }
    if (device.state() == "OFFLINE" || device.kind() == "cpu") continue;
    double share = 0;
    double bytes = 0;
    for (const kbench::v1::ForeignProcess& process : device.foreign()) {
      share += std::max(0.0, process.utilization());
      bytes += static_cast<double>(process.memory_bytes());
    }
    Add(utilization, {{"device", device.name()}}, share);
    Add(memory, {{"device", device.name()}}, bytes);
  }
  for (MetricFamily* family : {&blocked, &quarantine, &utilization, &memory}) {
    Keep(std::move(*family), families);
  }
}

// The driver's counters: Prometheus takes a smaller number for a new beginning.
void AddTotals(const std::vector<Device>& devices, std::vector<MetricFamily>& families) {
  MetricFamily energy = MakeCounter("kbench_device_energy_joules_total",
                                    "Energy that the device drew since its driver was loaded.");
  MetricFamily throttle = MakeCounter("kbench_device_throttle_seconds_total",
                                      "Time for which the device was slowed down, by reason.");
  for (const Device& device : devices) {
    if (!device.has_totals()) continue;
    const kbench::v1::DeviceTotals& totals = device.totals();
    if (totals.energy_joules() > 0) {
      Add(energy, {{"device", device.name()}}, totals.energy_joules());
    }
    const auto& by_reason = totals.throttle_seconds();
    for (const auto& [reason, seconds] :
         std::map<std::string, double>(by_reason.begin(), by_reason.end())) {
      Add(throttle, {{"device", device.name()}, {"reason", reason}}, seconds);
    }
  }
  for (MetricFamily* family : {&energy, &throttle}) Keep(std::move(*family), families);
}

void AddKept(const std::vector<Device>& devices, std::vector<MetricFamily>& families) {
  MetricFamily family = MakeGauge(
      "kbench_worker_bytes", "Bytes that the worker of the device keeps on its disk, by kind.");
  for (const Device& device : devices) {
    const auto& kept = device.kept_bytes();
    for (const auto& [kind, bytes] :
         std::map<std::string, std::int64_t>(kept.begin(), kept.end())) {
      Add(family, {{"device", device.name()}, {"kind", kind}}, static_cast<double>(bytes));
    }
  }
  Keep(std::move(family), families);
}

void AddTelemetry(const std::vector<Device>& devices, std::vector<MetricFamily>& families) {
  for (const TelemetryGauge& gauge : kTelemetry) {
    MetricFamily family = MakeGauge(gauge.name, gauge.help);
    for (const Device& device : devices) {
      if (device.state() == "OFFLINE" || !device.has_telemetry()) continue;
      const double value = gauge.value(device.telemetry());
      if (value == 0 && gauge.zero_is_unknown) continue;
      Add(family, {{"device", device.name()}}, value);
    }
    Keep(std::move(family), families);
  }
}

struct CalibrationGauge {
  const char* name;
  const char* help;
  double (*value)(const kbench::v1::Calibration&);
};

using kbench::v1::Calibration;

// Zeros mean "not measured" and are left out.
const CalibrationGauge kCalibration[] = {
    {"kbench_device_event_floor_seconds", "What the device's clock reads around nothing.",
     [](const Calibration& c) { return c.event_floor_seconds(); }},
    {"kbench_device_null_kernel_seconds", "What the device's clock reads around an empty kernel.",
     [](const Calibration& c) { return c.null_kernel_seconds(); }},
    {"kbench_device_event_cost_seconds", "What the clock adds to the time of a real kernel.",
     [](const Calibration& c) { return c.event_cost_seconds(); }},
    {"kbench_device_clock_quantum_seconds", "Smallest step between two times of the device.",
     [](const Calibration& c) { return c.quantum_seconds(); }},
    {"kbench_device_read_bandwidth_bytes_per_second", "Measured roof of reading memory.",
     [](const Calibration& c) { return c.read_bandwidth(); }},
    {"kbench_device_write_bandwidth_bytes_per_second", "Measured roof of writing memory.",
     [](const Calibration& c) { return c.write_bandwidth(); }},
    {"kbench_device_copy_bandwidth_bytes_per_second",
     "Measured roof of copying memory, read and written bytes together.",
     [](const Calibration& c) { return c.copy_bandwidth(); }},
    {"kbench_device_between_session_ratio",
     "Relative standard deviation of a median between sessions, from the device's canaries.",
     [](const Calibration& c) { return c.between_session_ratio(); }},
};

void AddCanaries(const std::vector<Device>& devices, std::vector<MetricFamily>& families) {
  MetricFamily ratio = MakeGauge("kbench_device_canary_ratio",
                                 "Time of the newest canary over the device's earlier ones.");
  MetricFamily drifting = MakeGauge("kbench_device_canary_drifting",
                                    "1 while the canary is beyond its bound: results are suspect.");
  MetricFamily flown =
      MakeGauge("kbench_device_canary_timestamp_seconds", "When the newest canary was flown.");
  MetricFamily total = MakeCounter("kbench_device_canaries_total",
                                   "Canaries flown since the device's worker began.");
  MetricFamily bad = MakeCounter("kbench_device_bad_canaries_total",
                                 "Of those the ones that computed wrongly or came to nothing.");
  for (const Device& device : devices) {
    if (!device.has_canary()) continue;
    const auto& canary = device.canary();
    Add(total, {{"device", device.name()}},
        static_cast<double>(canary.count() + canary.bad_count()));
    Add(bad, {{"device", device.name()}}, static_cast<double>(canary.bad_count()));
    if (canary.has_time()) {
      Add(flown, {{"device", device.name()}}, static_cast<double>(ToMicros(canary.time())) * 1e-6);
    }
    if (!(canary.ratio() > 0)) continue;
    Add(ratio, {{"device", device.name()}}, canary.ratio());
    Add(drifting, {{"device", device.name()}}, canary.drifting() ? 1 : 0);
  }
  for (MetricFamily* family : {&ratio, &drifting, &flown, &total, &bad}) {
    Keep(std::move(*family), families);
  }
}

void AddCalibration(const std::vector<Device>& devices, std::vector<MetricFamily>& families) {
  MetricFamily passed = MakeGauge("kbench_device_calibration_passed",
                                  "1 when the device passed its calibration, 0 when it failed.");
  MetricFamily canaries = MakeGauge("kbench_device_canaries",
                                    "Canary sessions behind kbench_device_between_session_ratio.");
  MetricFamily roof = MakeGauge("kbench_device_matmul_roof_flops_per_second",
                                "Measured rate of the library's matrix product, by dtype.");
  for (const Device& device : devices) {
    if (!device.has_calibration()) continue;
    Add(passed, {{"device", device.name()}}, device.calibration().passed() ? 1 : 0);
    Add(canaries, {{"device", device.name()}}, device.calibration().canaries());
    const auto& flops = device.calibration().matmul_flops();
    for (const auto& [dtype, rate] : std::map<std::string, double>(flops.begin(), flops.end())) {
      Add(roof, {{"device", device.name()}, {"dtype", dtype}}, rate);
    }
  }
  for (const CalibrationGauge& gauge : kCalibration) {
    MetricFamily family = MakeGauge(gauge.name, gauge.help);
    for (const Device& device : devices) {
      const double value = device.has_calibration() ? gauge.value(device.calibration()) : 0;
      if (value > 0) Add(family, {{"device", device.name()}}, value);
    }
    Keep(std::move(family), families);
  }
  for (MetricFamily* family : {&passed, &canaries, &roof}) Keep(std::move(*family), families);
}

}  // namespace

void AddDevices(const LiveState& state, std::vector<MetricFamily>& families) {
  AddDeviceState(state.devices, families);
  AddUse(state, families);
  AddTelemetry(state.devices, families);
  AddTotals(state.devices, families);
  AddCanaries(state.devices, families);
  AddCalibration(state.devices, families);
  AddKept(state.devices, families);
}

}  // namespace kbench::metrics
