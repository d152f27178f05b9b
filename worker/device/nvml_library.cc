#include "worker/device/nvml_library.h"

#include <dlfcn.h>

namespace kbench {
namespace {

template <typename Function>
bool Find(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  return *function != nullptr;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Nvml>> Nvml::Load(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return absl::NotFoundError("this machine has no NVIDIA driver (" + path +
                               " was not found): use --device cpu, or install the driver");
  }
  auto nvml = std::make_shared<Nvml>();
  const bool complete = Find(library, "nvmlInit_v2", &nvml->Init) &&
                        Find(library, "nvmlSystemGetDriverVersion", &nvml->DriverVersion) &&
                        Find(library, "nvmlDeviceGetCount_v2", &nvml->Count) &&
                        Find(library, "nvmlDeviceGetHandleByIndex_v2", &nvml->ByIndex) &&
                        Find(library, "nvmlDeviceGetHandleByUUID", &nvml->ByUuid) &&
                        Find(library, "nvmlDeviceGetName", &nvml->Name) &&
                        Find(library, "nvmlDeviceGetUUID", &nvml->Uuid) &&
                        Find(library, "nvmlDeviceGetIndex", &nvml->Index) &&
                        Find(library, "nvmlDeviceGetMemoryInfo", &nvml->MemoryInfo) &&
                        Find(library, "nvmlDeviceGetCudaComputeCapability", &nvml->Capability) &&
                        Find(library, "nvmlDeviceGetCpuAffinity", &nvml->CpuAffinity) &&
                        Find(library, "nvmlErrorString", &nvml->ErrorString);
  if (!complete) {
    return absl::NotFoundError(path +
                               " lacks functions kbench needs: the NVIDIA driver is too old, "
                               "install 525 or newer");
  }
  Find(library, "nvmlDeviceGetEnforcedPowerLimit", &nvml->PowerLimit);
  Find(library, "nvmlDeviceGetEccMode", &nvml->EccMode);
  Find(library, "nvmlDeviceGetPersistenceMode", &nvml->PersistenceMode);
  Find(library, "nvmlDeviceGetComputeMode", &nvml->ComputeMode);
  Find(library, "nvmlDeviceGetNumGpuCores", &nvml->NumCores);
  Find(library, "nvmlDeviceIsMigDeviceHandle", &nvml->IsMig);
  Find(library, "nvmlDeviceGetDeviceHandleFromMigDeviceHandle", &nvml->MigParent);
  Find(library, "nvmlDeviceGetAttributes_v2", &nvml->Attributes);
  Find(library, "nvmlDeviceGetApplicationsClock", &nvml->ApplicationsClock);
  Find(library, "nvmlDeviceGetClockInfo", &nvml->ClockInfo);
  Find(library, "nvmlDeviceGetTemperature", &nvml->Temperature);
  Find(library, "nvmlDeviceGetPowerUsage", &nvml->PowerUsage);
  if (!Find(library, "nvmlDeviceGetCurrentClocksEventReasons", &nvml->EventReasons)) {
    Find(library, "nvmlDeviceGetCurrentClocksThrottleReasons", &nvml->EventReasons);
  }
  Find(library, "nvmlDeviceGetComputeRunningProcesses_v3", &nvml->ComputeProcesses);
  Find(library, "nvmlDeviceGetProcessUtilization", &nvml->ProcessUtilization);
  Find(library, "nvmlDeviceGetFieldValues", &nvml->FieldValues);
  Find(library, "nvmlDeviceGetMaxMigDeviceCount", &nvml->MostMigDevices);
  Find(library, "nvmlDeviceGetMigDeviceHandleByIndex", &nvml->MigByIndex);
  Find(library, "nvmlEventSetCreate", &nvml->EventSetCreate);
  Find(library, "nvmlEventSetFree", &nvml->EventSetFree);
  Find(library, "nvmlEventSetWait_v2", &nvml->EventSetWait);
  Find(library, "nvmlDeviceRegisterEvents", &nvml->RegisterEvents);
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(nvml->Init), &info) != 0 && info.dli_fname != nullptr) {
    nvml->path = info.dli_fname;
  }
  return std::shared_ptr<const Nvml>(std::move(nvml));
}

}  // namespace kbench
