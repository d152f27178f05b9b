// NVIDIA's management library, loaded at run time: the worker starts without it and links nothing
// of CUDA. A table of its functions; those that an old driver lacks are null. The functions may
// block for ever on a sick driver: call them through a DeadlineThread.
#pragma once

#include <nvml.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace kbench {

struct Nvml {
  nvmlReturn_t (*Init)() = nullptr;
  nvmlReturn_t (*DriverVersion)(char*, unsigned) = nullptr;
  nvmlReturn_t (*Count)(unsigned*) = nullptr;
  nvmlReturn_t (*ByIndex)(unsigned, nvmlDevice_t*) = nullptr;
  nvmlReturn_t (*ByUuid)(const char*, nvmlDevice_t*) = nullptr;
  nvmlReturn_t (*Name)(nvmlDevice_t, char*, unsigned) = nullptr;
  nvmlReturn_t (*Uuid)(nvmlDevice_t, char*, unsigned) = nullptr;
  nvmlReturn_t (*Index)(nvmlDevice_t, unsigned*) = nullptr;
  nvmlReturn_t (*MemoryInfo)(nvmlDevice_t, nvmlMemory_t*) = nullptr;
  nvmlReturn_t (*Capability)(nvmlDevice_t, int*, int*) = nullptr;
  nvmlReturn_t (*CpuAffinity)(nvmlDevice_t, unsigned, unsigned long*) = nullptr;
  // From here on a missing function is a missing fact.
  nvmlReturn_t (*PowerLimit)(nvmlDevice_t, unsigned*) = nullptr;
  nvmlReturn_t (*EccMode)(nvmlDevice_t, nvmlEnableState_t*, nvmlEnableState_t*) = nullptr;
  nvmlReturn_t (*PersistenceMode)(nvmlDevice_t, nvmlEnableState_t*) = nullptr;
  nvmlReturn_t (*ComputeMode)(nvmlDevice_t, nvmlComputeMode_t*) = nullptr;
  nvmlReturn_t (*NumCores)(nvmlDevice_t, unsigned*) = nullptr;
  nvmlReturn_t (*IsMig)(nvmlDevice_t, unsigned*) = nullptr;
  nvmlReturn_t (*MigParent)(nvmlDevice_t, nvmlDevice_t*) = nullptr;
  nvmlReturn_t (*Attributes)(nvmlDevice_t, nvmlDeviceAttributes_t*) = nullptr;
  nvmlReturn_t (*ApplicationsClock)(nvmlDevice_t, nvmlClockType_t, unsigned*) = nullptr;
  nvmlReturn_t (*ClockInfo)(nvmlDevice_t, nvmlClockType_t, unsigned*) = nullptr;
  nvmlReturn_t (*Temperature)(nvmlDevice_t, nvmlTemperatureSensors_t, unsigned*) = nullptr;
  nvmlReturn_t (*PowerUsage)(nvmlDevice_t, unsigned*) = nullptr;
  nvmlReturn_t (*EventReasons)(nvmlDevice_t, unsigned long long*) = nullptr;
  nvmlReturn_t (*ComputeProcesses)(nvmlDevice_t, unsigned*, nvmlProcessInfo_t*) = nullptr;
  nvmlReturn_t (*ProcessUtilization)(nvmlDevice_t, nvmlProcessUtilizationSample_t*, unsigned*,
                                     unsigned long long) = nullptr;
  nvmlReturn_t (*FieldValues)(nvmlDevice_t, int, nvmlFieldValue_t*) = nullptr;
  nvmlReturn_t (*MostMigDevices)(nvmlDevice_t, unsigned*) = nullptr;
  nvmlReturn_t (*MigByIndex)(nvmlDevice_t, unsigned, nvmlDevice_t*) = nullptr;
  nvmlReturn_t (*EventSetCreate)(nvmlEventSet_t*) = nullptr;
  nvmlReturn_t (*EventSetFree)(nvmlEventSet_t) = nullptr;
  nvmlReturn_t (*EventSetWait)(nvmlEventSet_t, nvmlEventData_t*, unsigned) = nullptr;
  nvmlReturn_t (*RegisterEvents)(nvmlDevice_t, unsigned long long, nvmlEventSet_t) = nullptr;
  const char* (*ErrorString)(nvmlReturn_t) = nullptr;
  std::string path;  // the file that was loaded, as the loader found it

  // NOT_FOUND when there is no such library (no NVIDIA driver). Never unloaded: a hung call may
  // still be inside it.
  static absl::StatusOr<std::shared_ptr<const Nvml>> Load(const std::string& path);
};

}  // namespace kbench
