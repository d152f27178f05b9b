// Exports the functions of NVML that the worker calls, for a machine with two GPUs and two MIG
// slices on the first. The environment variable FAKE_NVML makes it ill: "hang" (the telemetry never
// answers), "lost" (the GPU fell off the bus), "hot" (thermal slowdown), "noinit", "busy" (process
// 200 computes), "olddriver" (no counters of single reasons, no utilisation by process), "brief" (a
// thermal slowdown that only the counter shows), "mismatch" (the driver in the kernel is of another
// version), "noevents" (the device reports none). Without that variable the first word of the file
// FAKE_NVML_FILE says the same, while the program runs. Counters move on with each reading.
// FAKE_XIDS, when events are first asked for: "79 13 ecc" are reported in turn.
#include <nvml.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

#undef nvmlInit
#define FAKE extern "C" __attribute__((visibility("default"))) nvmlReturn_t

namespace {

bool Ill(const char* how) {
  if (const char* value = std::getenv("FAKE_NVML")) return std::strcmp(value, how) == 0;
  const char* path = std::getenv("FAKE_NVML_FILE");
  std::string word;
  if (path != nullptr) std::ifstream(path) >> word;
  return word == how;
}
long Index(nvmlDevice_t device) { return reinterpret_cast<long>(device) - 1; }
// Two boards, then two slices of the first.
const char* const kUuids[] = {"GPU-00000000-aaaa", "GPU-11111111-bbbb", "MIG-22222222-cccc",
                              "MIG-33333333-dddd"};
nvmlDevice_t Handle(long index) { return reinterpret_cast<nvmlDevice_t>(index + 1); }

}  // namespace

FAKE nvmlInit_v2() {
  if (Ill("mismatch")) return NVML_ERROR_LIB_RM_VERSION_MISMATCH;
  return Ill("noinit") ? NVML_ERROR_DRIVER_NOT_LOADED : NVML_SUCCESS;
}
extern "C" __attribute__((visibility("default"))) const char* nvmlErrorString(nvmlReturn_t error) {
  if (error == NVML_ERROR_NOT_FOUND) return "Not Found";
  if (error == NVML_ERROR_GPU_IS_LOST) return "GPU is lost";
  return error == NVML_ERROR_DRIVER_NOT_LOADED ? "Driver Not Loaded" : "Invalid Argument";
}
FAKE nvmlSystemGetDriverVersion(char* text, unsigned size) {
  std::snprintf(text, size, "580.1");
  return NVML_SUCCESS;
}
FAKE nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 2;
  return NVML_SUCCESS;
}
FAKE nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t* device) {
  if (index > 1) return NVML_ERROR_INVALID_ARGUMENT;
  *device = Handle(index);
  return NVML_SUCCESS;
}
FAKE nvmlDeviceGetHandleByUUID(const char* uuid, nvmlDevice_t* device) {
  for (long i = 0; i < 4; ++i) {
    if (std::strcmp(uuid, kUuids[i]) != 0) continue;
    *device = Handle(i);
    return NVML_SUCCESS;
  }
  return NVML_ERROR_NOT_FOUND;
}
FAKE nvmlDeviceIsMigDeviceHandle(nvmlDevice_t device, unsigned* mig) {
  *mig = Index(device) >= 2 ? 1 : 0;
  return NVML_SUCCESS;
}
FAKE nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvmlDevice_t, nvmlDevice_t* board) {
  *board = Handle(0);
  return NVML_SUCCESS;
}
FAKE nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t, unsigned* count) {
  *count = 7;
  return NVML_SUCCESS;
}
FAKE nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t, unsigned index, nvmlDevice_t* slice) {
  if (index > 1) return NVML_ERROR_NOT_FOUND;
  *slice = Handle(2 + index);
  return NVML_SUCCESS;
}
FAKE nvmlDeviceGetName(nvmlDevice_t device, char* text, unsigned size) {
  std::snprintf(text, size, "%s", Index(device) == 0 ? "NVIDIA H200" : "NVIDIA Mystery 9000");
  return NVML_SUCCESS;
}
FAKE nvmlDeviceGetUUID(nvmlDevice_t device, char* text, unsigned size) {
  std::snprintf(text, size, "%s", kUuids[Index(device)]);
  return NVML_SUCCESS;
}
FAKE nvmlDeviceGetIndex(nvmlDevice_t device, unsigned* index) {
  *index = static_cast<unsigned>(Index(device));
  return NVML_SUCCESS;
}
FAKE nvmlDeviceGetMemoryInfo(nvmlDevice_t, nvmlMemory_t* memory) {
  if (Ill("hang")) sleep(30);
  if (Ill("lost")) return NVML_ERROR_GPU_IS_LOST;
  if (Ill("mismatch")) return NVML_ERROR_LIB_RM_VERSION_MISMATCH;
  memory->total = 141ull << 30;
  return NVML_SUCCESS;
}
FAKE nvmlDeviceGetCudaComputeCapability(nvmlDevice_t, int* major, int* minor) {
  *major = 9;
  *minor = 0;
  return NVML_SUCCESS;
}
FAKE nvmlDeviceGetCpuAffinity(nvmlDevice_t, unsigned words, unsigned long* set) {
  std::memset(set, 0, words * sizeof(unsigned long));
  set[0] = ~0ul;
  return NVML_SUCCESS;
}
FAKE nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t, unsigned* milliwatts) {
  *milliwatts = 700000;
  return NVML_SUCCESS;
}
FAKE nvmlDeviceGetEccMode(nvmlDevice_t, nvmlEnableState_t* now, nvmlEnableState_t* pending) {
  *now = *pending = NVML_FEATURE_ENABLED;
  return NVML_SUCCESS;
}
FAKE nvmlDeviceGetComputeMode(nvmlDevice_t device, nvmlComputeMode_t* mode) {
  *mode = Index(device) == 0 ? NVML_COMPUTEMODE_DEFAULT : NVML_COMPUTEMODE_EXCLUSIVE_PROCESS;
  return NVML_SUCCESS;
}
FAKE nvmlDeviceGetNumGpuCores(nvmlDevice_t, unsigned* cores) {
  *cores = 132 * 128;
  return NVML_SUCCESS;
}
FAKE nvmlDeviceGetAttributes_v2(nvmlDevice_t device, nvmlDeviceAttributes_t* slice) {
  if (Index(device) < 2) return NVML_ERROR_NOT_SUPPORTED;
  *slice = {};
  slice->computeInstanceSliceCount = 1;
  slice->gpuInstanceSliceCount = 2;
  slice->multiprocessorCount = 16;
  slice->memorySizeMB = 33280;
  return NVML_SUCCESS;
}
FAKE nvmlDeviceGetApplicationsClock(nvmlDevice_t device, nvmlClockType_t type,
                                    unsigned* megahertz) {
  if (Index(device) != 0) return NVML_ERROR_NOT_SUPPORTED;
  *megahertz = type == NVML_CLOCK_GRAPHICS ? 1755 : 3201;
  return NVML_SUCCESS;
}
FAKE nvmlDeviceGetClockInfo(nvmlDevice_t, nvmlClockType_t type, unsigned* megahertz) {
  *megahertz = type == NVML_CLOCK_SM ? 1980 : 3201;
  return NVML_SUCCESS;
}
FAKE nvmlDeviceGetTemperature(nvmlDevice_t, nvmlTemperatureSensors_t, unsigned* celsius) {
  *celsius = 41;
  return NVML_SUCCESS;
}
FAKE nvmlDeviceGetPowerUsage(nvmlDevice_t, unsigned* milliwatts) {
  *milliwatts = 250000;
  return NVML_SUCCESS;
}
// An older driver: only the former name of the function exists.
FAKE nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t, unsigned long long* reasons) {
  *reasons =
      Ill("hot") ? nvmlClocksThrottleReasonHwThermalSlowdown : nvmlClocksEventReasonSwPowerCap;
  return NVML_SUCCESS;
}
FAKE nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned* count,
                                             nvmlProcessInfo_t* infos) {
  // On the slices: one of ours on the first, a stranger's on the second.
  if (Index(device) >= 2) {
    *count = 1;
    infos[0].pid = Index(device) == 2 ? 100 : 300;
    infos[0].usedGpuMemory = ~0ull;  // not available
    return NVML_SUCCESS;
  }
  *count = 2;
  infos[0].pid = 100;
  infos[1].pid = 200;
  infos[0].usedGpuMemory = 1ull << 30;
  infos[1].usedGpuMemory = 12ull << 30;
  return NVML_SUCCESS;
}
FAKE nvmlDeviceGetProcessUtilization(nvmlDevice_t, nvmlProcessUtilizationSample_t* samples,
                                     unsigned* count, unsigned long long) {
  if (Ill("olddriver")) return NVML_ERROR_NOT_SUPPORTED;
  if (!Ill("busy")) return NVML_ERROR_NOT_FOUND;
  *count = 2;
  samples[0] = {100, 0, 90, 0, 0, 0};
  samples[1] = {200, 0, 37, 0, 0, 0};
  return NVML_SUCCESS;
}
// Each reading: 30 ms under the power cap, 50 J, 1 error more.
FAKE nvmlDeviceGetFieldValues(nvmlDevice_t, int count, nvmlFieldValue_t* fields) {
  static unsigned long long reading = 0;
  ++reading;
  for (int i = 0; i < count; ++i) {
    nvmlFieldValue_t& field = fields[i];
    field.nvmlReturn = NVML_SUCCESS;
    field.valueType = NVML_VALUE_TYPE_UNSIGNED_LONG_LONG;
    field.value.ullVal = 0;
    const bool fine = field.fieldId >= NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN;
    if (fine && Ill("olddriver")) field.nvmlReturn = NVML_ERROR_NOT_SUPPORTED;
    if (field.fieldId == NVML_FI_DEV_PERF_POLICY_POWER) field.value.ullVal = reading * 30'000'000;
    if (field.fieldId == NVML_FI_DEV_PERF_POLICY_THERMAL) field.value.ullVal = reading * 7'000'000;
    if (field.fieldId == NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN && Ill("brief")) {
      field.value.ullVal = reading * 20'000'000;
    }
    if (field.fieldId == NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION) field.value.ullVal = reading * 50000;
    if (field.fieldId == NVML_FI_DEV_ECC_DBE_VOL_TOTAL) field.value.ullVal = reading;
  }
  return NVML_SUCCESS;
}

namespace {

// What is still to be reported, and whether Xids were asked for.
struct Events {
  std::istringstream words;
  unsigned long long wanted = 0;
};

}  // namespace

FAKE nvmlEventSetCreate(nvmlEventSet_t* set) {
  if (Ill("noevents")) return NVML_ERROR_NOT_SUPPORTED;
  auto* events = new Events;
  if (const char* words = std::getenv("FAKE_XIDS")) events->words.str(words);
  *set = reinterpret_cast<nvmlEventSet_t>(events);
  return NVML_SUCCESS;
}
FAKE nvmlEventSetFree(nvmlEventSet_t set) {
  delete reinterpret_cast<Events*>(set);
  return NVML_SUCCESS;
}
// The second board has no ECC: it knows Xids alone.
FAKE nvmlDeviceRegisterEvents(nvmlDevice_t device, unsigned long long types, nvmlEventSet_t set) {
  if (Index(device) == 1 && (types & nvmlEventTypeDoubleBitEccError) != 0) {
    return NVML_ERROR_NOT_SUPPORTED;
  }
  reinterpret_cast<Events*>(set)->wanted = types;
  return NVML_SUCCESS;
}
#undef nvmlEventSetWait
FAKE nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t* data, unsigned milliseconds) {
  auto* events = reinterpret_cast<Events*>(set);
  std::string word;
  if (!(events->words >> word)) {
    usleep(1000 * (milliseconds < 20 ? milliseconds : 20));
    return NVML_ERROR_TIMEOUT;
  }
  *data = {};
  data->eventType = word == "ecc" ? nvmlEventTypeDoubleBitEccError : nvmlEventTypeXidCriticalError;
  if (word != "ecc") data->eventData = std::strtoull(word.c_str(), nullptr, 10);
  return (events->wanted & data->eventType) != 0 ? NVML_SUCCESS : NVML_ERROR_TIMEOUT;
}
