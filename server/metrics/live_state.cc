#include "server/metrics/live_state.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "proto/support/clock.h"

namespace kbench::metrics {
namespace {

using kbench::v1::Device;
using prometheus::ClientMetric;
using prometheus::MetricFamily;

constexpr const char* kDeviceStates[] = {"CALIBRATING", "READY",   "BUSY",        "HELD",
                                         "DRAINING",    "DRAINED", "QUARANTINED", "OFFLINE",
                                         "WEDGED",      "FAILED"};

MetricFamily Gauge(const char* name, const char* help) {
  MetricFamily family;
  family.name = name;
  family.help = help;
  family.type = prometheus::MetricType::Gauge;
  return family;
}

void Add(MetricFamily& family, std::vector<ClientMetric::Label> labels, double value) {
  ClientMetric& metric = family.metric.emplace_back();
  metric.label = std::move(labels);
  metric.gauge.value = value;
}

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
  MetricFamily info = Gauge("kbench_device_info", "Facts about a device; the value is 1.");
  MetricFamily state = Gauge("kbench_device_state", "1 for the state the device is in, else 0.");
  MetricFamily up = Gauge("kbench_worker_up", "1 while the worker of the device is connected.");
  MetricFamily seen = Gauge("kbench_worker_last_heartbeat_timestamp_seconds",
                            "When the worker of the device was last heard.");
  for (const Device& device : devices) {
    Add(info,
        {{"device", device.name()},
         {"kind", device.kind()},
         {"model", device.model()},
         {"architecture", device.architecture()},
         {"uuid", device.uuid()},
         {"driver", device.driver()},
         {"hostname", device.hostname()}},
        1);
    for (const char* name : kDeviceStates) {
      Add(state, {{"device", device.name()}, {"state", name}}, device.state() == name ? 1 : 0);
    }
    // A worker that is there may say itself that its device is not (DRIVER_MISMATCH).
    const bool is_up = device.state() != "OFFLINE" || device.state_reason() == "DRIVER_MISMATCH";
    Add(up, {{"device", device.name()}}, is_up ? 1 : 0);
    Add(seen, {{"device", device.name()}},
        static_cast<double>(ToMicros(device.last_heartbeat_time())) * 1e-6);
  }
  for (MetricFamily* family : {&info, &state, &up, &seen}) families.push_back(std::move(*family));
}

void AddKept(const std::vector<Device>& devices, std::vector<MetricFamily>& families) {
  MetricFamily family = Gauge("kbench_worker_bytes",
                              "Bytes that the worker of the device keeps on its disk, by kind.");
  for (const Device& device : devices) {
    const auto& kept = device.kept_bytes();
    for (const auto& [kind, bytes] :
         std::map<std::string, std::int64_t>(kept.begin(), kept.end())) {
      Add(family, {{"device", device.name()}, {"kind", kind}}, static_cast<double>(bytes));
    }
  }
  if (!family.metric.empty()) families.push_back(std::move(family));
}

void AddTelemetry(const std::vector<Device>& devices, std::vector<MetricFamily>& families) {
  for (const TelemetryGauge& gauge : kTelemetry) {
    MetricFamily family = Gauge(gauge.name, gauge.help);
    for (const Device& device : devices) {
      if (device.state() == "OFFLINE" || !device.has_telemetry()) continue;
      const double value = gauge.value(device.telemetry());
      if (value == 0 && gauge.zero_is_unknown) continue;
      Add(family, {{"device", device.name()}}, value);
    }
    if (!family.metric.empty()) families.push_back(std::move(family));
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
  MetricFamily ratio = Gauge("kbench_device_canary_ratio",
                             "Time of the newest canary over the device's earlier ones.");
  MetricFamily drifting = Gauge("kbench_device_canary_drifting",
                                "1 while the canary is beyond its bound: results are suspect.");
  for (const Device& device : devices) {
    if (!device.has_canary() || !(device.canary().ratio() > 0)) continue;
    Add(ratio, {{"device", device.name()}}, device.canary().ratio());
    Add(drifting, {{"device", device.name()}}, device.canary().drifting() ? 1 : 0);
  }
  for (MetricFamily* family : {&ratio, &drifting}) {
    if (!family->metric.empty()) families.push_back(std::move(*family));
  }
}

void AddCalibration(const std::vector<Device>& devices, std::vector<MetricFamily>& families) {
  MetricFamily passed = Gauge("kbench_device_calibration_passed",
                              "1 when the device passed its calibration, 0 when it failed.");
  MetricFamily canaries = Gauge("kbench_device_canaries",
                                "Canary sessions behind kbench_device_between_session_ratio.");
  MetricFamily roof = Gauge("kbench_device_matmul_roof_flops_per_second",
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
    MetricFamily family = Gauge(gauge.name, gauge.help);
    for (const Device& device : devices) {
      const double value = device.has_calibration() ? gauge.value(device.calibration()) : 0;
      if (value > 0) Add(family, {{"device", device.name()}}, value);
    }
    if (!family.metric.empty()) families.push_back(std::move(family));
  }
  for (MetricFamily* family : {&passed, &canaries, &roof}) {
    if (!family->metric.empty()) families.push_back(std::move(*family));
  }
}

}  // namespace

void LiveCollector::SetSource(std::function<LiveState()> source) {
  MutexLock lock(mutex_);
  source_ = std::move(source);
}

std::vector<MetricFamily> LiveCollector::Collect() const {
  std::vector<MetricFamily> families;
  // Held during the call: SetSource(nullptr) returns only when no scrape uses the source any more.
  MutexLock lock(mutex_);
  if (!source_) return families;
  const LiveState state = source_();
  const std::pair<MetricFamily, int> counts[] = {
      {Gauge("kbench_queue_cases", "Cases that wait for a device."), state.queued_cases},
      {Gauge("kbench_running_cases", "Cases that a worker is running."), state.running_cases},
      {Gauge("kbench_watchers", "Open streams of WatchJob and WatchQueue."), state.watchers},
  };
  for (const auto& [family, value] : counts) {
    families.push_back(family);
    Add(families.back(), {}, value);
  }
  if (!state.devices.empty()) {
    AddDeviceState(state.devices, families);
    AddTelemetry(state.devices, families);
    AddKept(state.devices, families);
    AddCalibration(state.devices, families);
    AddCanaries(state.devices, families);
  }
  return families;
}

}  // namespace kbench::metrics
