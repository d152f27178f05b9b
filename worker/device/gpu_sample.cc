#include "worker/device/gpu_sample.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace kbench {
namespace {

// Throttle counters, in nanoseconds. Drivers before 560 lack the finer thermal ones; there the
// older counter of the thermal policy stands in, which NVIDIA maps to the software slowdown.
struct CounterField {
  unsigned id;
  const char* reason;
  unsigned fallback;  // 0: none
};
constexpr CounterField kThrottleFields[] = {
    {NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_POWER_CAP, "POWER_CAP", 0},
    {NVML_FI_DEV_CLOCKS_EVENT_REASON_SYNC_BOOST, "SYNC_BOOST", 0},
    {NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN, "SW_THERMAL",
     NVML_FI_DEV_PERF_POLICY_THERMAL},
    {NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN, "HW_THERMAL", 0},
    {NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN, "POWER_BRAKE", 0},
};

std::optional<double> ValueOf(const nvmlFieldValue_t& field) {
  if (field.nvmlReturn != NVML_SUCCESS) return std::nullopt;
  switch (field.valueType) {
    case NVML_VALUE_TYPE_DOUBLE:
      return field.value.dVal;
    case NVML_VALUE_TYPE_UNSIGNED_INT:
      return field.value.uiVal;
    case NVML_VALUE_TYPE_UNSIGNED_LONG:
      return static_cast<double>(field.value.ulVal);
    case NVML_VALUE_TYPE_UNSIGNED_LONG_LONG:
      return static_cast<double>(field.value.ullVal);
    case NVML_VALUE_TYPE_SIGNED_LONG_LONG:
      return static_cast<double>(field.value.sllVal);
    default:
      return std::nullopt;
  }
}

std::vector<GpuProcess> ProcessesOn(const Nvml& nvml, nvmlDevice_t device) {
  std::vector<GpuProcess> processes;
  if (nvml.ComputeProcesses == nullptr) return processes;
  std::vector<nvmlProcessInfo_t> infos(128);
  auto count = static_cast<unsigned>(infos.size());
  if (nvml.ComputeProcesses(device, &count, infos.data()) != NVML_SUCCESS) return processes;
  for (unsigned i = 0; i < count; ++i) {
    const unsigned long long used = infos[i].usedGpuMemory;
    // All bits set: "not available".
    const bool known = used < (1ull << 62);
    processes.push_back({infos[i].pid, known ? static_cast<std::int64_t>(used) : 0});
  }
  return processes;
}

int BusySiblings(const Nvml& nvml, nvmlDevice_t board, nvmlDevice_t slice) {
  unsigned most = 0;
  if (nvml.MostMigDevices == nullptr || nvml.MigByIndex == nullptr ||
      nvml.MostMigDevices(board, &most) != NVML_SUCCESS) {
    return 0;
  }
  int busy = 0;
  for (unsigned i = 0; i < most; ++i) {
    nvmlDevice_t sibling = nullptr;
    if (nvml.MigByIndex(board, i, &sibling) != NVML_SUCCESS || sibling == slice) continue;
    if (!ProcessesOn(nvml, sibling).empty()) ++busy;
  }
  return busy;
}

}  // namespace

GpuSample TakeGpuSample(const Nvml& nvml, nvmlDevice_t board) {
  GpuSample sample;
  unsigned value = 0;
  if (nvml.ClockInfo != nullptr) {
    if (nvml.ClockInfo(board, NVML_CLOCK_SM, &value) == NVML_SUCCESS) sample.sm_hertz = value * 1e6;
    if (nvml.ClockInfo(board, NVML_CLOCK_MEM, &value) == NVML_SUCCESS) {
      sample.memory_hertz = value * 1e6;
    }
  }
  if (nvml.Temperature != nullptr &&
      nvml.Temperature(board, NVML_TEMPERATURE_GPU, &value) == NVML_SUCCESS) {
    sample.celsius = value;
  }
  if (nvml.PowerUsage != nullptr && nvml.PowerUsage(board, &value) == NVML_SUCCESS) {
    sample.watts = value * 1e-3;
  }
  if (nvml.EventReasons != nullptr) nvml.EventReasons(board, &sample.reasons);
  return sample;
}

GpuCounters ReadGpuCounters(const Nvml& nvml, nvmlDevice_t board) {
  GpuCounters counters;
  if (nvml.FieldValues == nullptr) return counters;
  std::vector<nvmlFieldValue_t> fields;
  const auto want = [&](unsigned id) {
    nvmlFieldValue_t field = {};
    field.fieldId = id;
    field.nvmlReturn = NVML_ERROR_NOT_SUPPORTED;
    fields.push_back(field);
  };
  for (const CounterField& counter : kThrottleFields) {
    want(counter.id);
    if (counter.fallback != 0) want(counter.fallback);
  }
  want(NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION);
  want(NVML_FI_DEV_ECC_DBE_VOL_TOTAL);
  if (nvml.FieldValues(board, static_cast<int>(fields.size()), fields.data()) != NVML_SUCCESS) {
    return counters;
  }
  std::map<unsigned, double> values;
  for (const nvmlFieldValue_t& field : fields) {
    if (const auto value = ValueOf(field)) values[field.fieldId] = *value;
  }
  for (const CounterField& counter : kThrottleFields) {
    const auto found =
        values.count(counter.id) > 0 ? values.find(counter.id) : values.find(counter.fallback);
    if (found != values.end()) counters.throttle_seconds[counter.reason] = found->second * 1e-9;
  }
  if (const auto found = values.find(NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION); found != values.end()) {
    counters.energy_joules = found->second * 1e-3;
  }
  if (const auto found = values.find(NVML_FI_DEV_ECC_DBE_VOL_TOTAL); found != values.end()) {
    counters.ecc_errors = found->second;
  }
  return counters;
}

GpuUsers ReadGpuUsers(const Nvml& nvml, nvmlDevice_t board, nvmlDevice_t slice,
                      unsigned long long since_micros) {
  GpuUsers users;
  users.processes = ProcessesOn(nvml, slice != nullptr ? slice : board);
  if (slice != nullptr) {
    users.busy_siblings = BusySiblings(nvml, board, slice);
    return users;  // the driver tells no utilisation by process on a board with slices
  }
  if (nvml.ProcessUtilization == nullptr) return users;
  std::array<nvmlProcessUtilizationSample_t, 256> samples;
  auto count = static_cast<unsigned>(samples.size());
  const nvmlReturn_t error = nvml.ProcessUtilization(board, samples.data(), &count, since_micros);
  // "Not found": nobody computed anything.
  users.utilization_known = error == NVML_SUCCESS || error == NVML_ERROR_NOT_FOUND;
  if (error != NVML_SUCCESS) return users;
  for (unsigned i = 0; i < std::min<unsigned>(count, samples.size()); ++i) {
    double& share = users.utilization[samples[i].pid];
    share = std::max(share, std::min(1.0, samples[i].smUtil * 0.01));
  }
  return users;
}

std::vector<std::string> ReasonNames(unsigned long long bits) {
  // nvml.h marks some of these macros as signed.
  const std::pair<unsigned long long, const char*> names[] = {
      {nvmlClocksEventReasonSwPowerCap, "POWER_CAP"},
      {nvmlClocksEventReasonSwThermalSlowdown, "SW_THERMAL"},
      {nvmlClocksThrottleReasonHwThermalSlowdown, "HW_THERMAL"},
      {nvmlClocksThrottleReasonHwPowerBrakeSlowdown, "POWER_BRAKE"},
      {nvmlClocksEventReasonApplicationsClocksSetting, "APPLICATION_CLOCKS"},
      {nvmlClocksEventReasonSyncBoost, "SYNC_BOOST"},
  };
  std::vector<std::string> reasons;
  for (const auto& [bit, name] : names) {
    if ((bits & bit) != 0) reasons.push_back(name);
  }
  return reasons;
}

}  // namespace kbench
