#include "worker/device/gpu_device.h"

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "fmt/format.h"
#include "proto/support/cpu_list.h"
#include "worker/device/datasheet.h"
#include "worker/device/deadline_thread.h"
#include "worker/device/gpu_monitor.h"
#include "worker/device/nvml_library.h"

namespace kbench {
namespace {

// The first call after boot may load the driver's firmware.
constexpr double kOpenDeadlineSeconds = 20;

std::string DeviceName(const Nvml& nvml, nvmlDevice_t handle) {
  char name[NVML_DEVICE_NAME_V2_BUFFER_SIZE] = {};
  return nvml.Name(handle, name, sizeof(name)) == NVML_SUCCESS ? name : "GPU";
}

std::string DeviceUuid(const Nvml& nvml, nvmlDevice_t handle) {
  char uuid[NVML_DEVICE_UUID_V2_BUFFER_SIZE] = {};
  return nvml.Uuid(handle, uuid, sizeof(uuid)) == NVML_SUCCESS ? uuid : "";
}

std::string ListGpus(const Nvml& nvml) {
  unsigned count = 0;
  nvml.Count(&count);
  std::string list;
  for (unsigned i = 0; i < count; ++i) {
    nvmlDevice_t handle = nullptr;
    if (nvml.ByIndex(i, &handle) != NVML_SUCCESS) continue;
    if (!list.empty()) list += "; ";
    list += std::to_string(i) + ": " + DeviceName(nvml, handle) + ", " + DeviceUuid(nvml, handle);
  }
  return list.empty() ? "this machine has no GPU that the driver can use; use --device cpu"
                      : "this machine has " + list;
}

absl::Status Mismatch(const Nvml& nvml, const std::string& kernel_driver) {
  return DriverMismatch(ReadDriverVersions(nvml.path, kernel_driver));
}

absl::StatusOr<nvmlDevice_t> FindGpu(const Nvml& nvml, const std::string& spec,
                                     const std::string& kernel_driver) {
  nvmlDevice_t handle = nullptr;
  const bool by_uuid = spec.rfind("GPU-", 0) == 0 || spec.rfind("MIG-", 0) == 0;
  const nvmlReturn_t error =
      by_uuid ? nvml.ByUuid(spec.c_str(), &handle)
              : nvml.ByIndex(static_cast<unsigned>(std::atoi(spec.c_str())), &handle);
  if (error == NVML_SUCCESS) return handle;
  if (error == NVML_ERROR_LIB_RM_VERSION_MISMATCH) return Mismatch(nvml, kernel_driver);
  return absl::NotFoundError("there is no GPU " + spec + " (" + nvml.ErrorString(error) +
                             "): " + ListGpus(nvml));
}

bool IsMig(const Nvml& nvml, nvmlDevice_t handle) {
  unsigned mig = 0;
  return nvml.IsMig != nullptr && nvml.IsMig(handle, &mig) == NVML_SUCCESS && mig != 0;
}

// The board a slice lies on; clocks, power and NUMA node belong to it.
nvmlDevice_t Board(const Nvml& nvml, nvmlDevice_t handle) {
  nvmlDevice_t parent = nullptr;
  if (IsMig(nvml, handle) && nvml.MigParent != nullptr &&
      nvml.MigParent(handle, &parent) == NVML_SUCCESS) {
    return parent;
  }
  return handle;
}

// CPUs of the GPU's NUMA node that this process may use.
std::vector<int> NearCpus(const Nvml& nvml, nvmlDevice_t board) {
  constexpr unsigned kWords = 128;
  constexpr int kBits = 8 * sizeof(unsigned long);
  unsigned long words[kWords] = {};
  std::vector<int> cpus;
  if (nvml.CpuAffinity(board, kWords, words) != NVML_SUCCESS) return cpus;
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    const bool near = ((words[cpu / kBits] >> (cpu % kBits)) & 1u) != 0;
    if (near && CPU_ISSET(cpu, &allowed)) cpus.push_back(cpu);
  }
  return cpus;
}

// "1/1 slices, 16 SMs, 18000 MiB": of a slice the instances that it is made of; else empty.
std::string MigProfile(const Nvml& nvml, nvmlDevice_t handle) {
  nvmlDeviceAttributes_t slice{};
  if (!IsMig(nvml, handle) || nvml.Attributes == nullptr ||
      nvml.Attributes(handle, &slice) != NVML_SUCCESS) {
    return "";
  }
  return fmt::format("{}/{} slices, {} SMs, {} MiB", slice.computeInstanceSliceCount,
                     slice.gpuInstanceSliceCount, slice.multiprocessorCount, slice.memorySizeMB);
}

// "1980/3201 MHz", SMs and memory. Clocks that are locked (nvidia-smi -lgc) cannot be asked for.
std::string ApplicationClocks(const Nvml& nvml, nvmlDevice_t board) {
  unsigned sm = 0;
  unsigned memory = 0;
  if (nvml.ApplicationsClock == nullptr ||
      nvml.ApplicationsClock(board, NVML_CLOCK_GRAPHICS, &sm) != NVML_SUCCESS ||
      nvml.ApplicationsClock(board, NVML_CLOCK_MEM, &memory) != NVML_SUCCESS) {
    return "";
  }
  return fmt::format("{}/{} MHz", sm, memory);
}

void FillSettings(const Nvml& nvml, nvmlDevice_t handle, nvmlDevice_t board, DeviceFacts* facts) {
  auto& settings = *facts->device.mutable_settings();
  const std::string profile = MigProfile(nvml, handle);
  if (!profile.empty()) settings["mig_profile"] = profile;
  const std::string clocks = ApplicationClocks(nvml, board);
  if (!clocks.empty()) settings["application_clocks"] = clocks;
  unsigned milliwatts = 0;
  if (nvml.PowerLimit != nullptr && nvml.PowerLimit(board, &milliwatts) == NVML_SUCCESS) {
    settings["power_limit_watts"] = std::to_string(milliwatts / 1000);
  }
  nvmlEnableState_t current = NVML_FEATURE_DISABLED;
  nvmlEnableState_t pending = NVML_FEATURE_DISABLED;
  if (nvml.EccMode != nullptr && nvml.EccMode(board, &current, &pending) == NVML_SUCCESS) {
    settings["ecc"] = current == NVML_FEATURE_ENABLED ? "on" : "off";
  }
  if (nvml.PersistenceMode != nullptr && nvml.PersistenceMode(board, &current) == NVML_SUCCESS) {
    settings["persistence"] = current == NVML_FEATURE_ENABLED ? "on" : "off";
  }
  nvmlComputeMode_t mode = NVML_COMPUTEMODE_DEFAULT;
  if (nvml.ComputeMode != nullptr && nvml.ComputeMode(board, &mode) == NVML_SUCCESS) {
    facts->exclusive = mode == NVML_COMPUTEMODE_EXCLUSIVE_PROCESS;
    settings["compute_mode"] = facts->exclusive ? "exclusive_process" : "default";
  }
  if (!facts->cpus.empty()) settings["cpus"] = FormatCpuList(facts->cpus);
}

int Multiprocessors(const Nvml& nvml, nvmlDevice_t handle, int major, int minor) {
  unsigned cores = 0;
  if (nvml.NumCores == nullptr || nvml.NumCores(handle, &cores) != NVML_SUCCESS) return 0;
  const bool wide = major > 8 || (major == 8 && minor > 0);
  return static_cast<int>(cores) / (wide ? 128 : 64);
}

DeviceFacts Identity(const Nvml& nvml, nvmlDevice_t handle) {
  DeviceFacts facts;
  const nvmlDevice_t board = Board(nvml, handle);
  v1::Device& device = facts.device;
  device.set_kind("cuda");
  device.set_uuid(DeviceUuid(nvml, handle));
  device.set_model(DeviceName(nvml, handle));
  char driver[NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE] = {};
  if (nvml.DriverVersion(driver, sizeof(driver)) == NVML_SUCCESS) device.set_driver(driver);
  int major = 0;
  int minor = 0;
  nvml.Capability(board, &major, &minor);
  device.set_architecture("sm_" + std::to_string(10 * major + minor));
  nvmlMemory_t memory{};
  if (nvml.MemoryInfo(handle, &memory) == NVML_SUCCESS) {
    device.set_memory_bytes(static_cast<std::int64_t>(memory.total));
  }
  device.set_cores(Multiprocessors(nvml, handle, major, minor));
  unsigned index = 0;
  nvml.Index(board, &index);
  facts.default_name = "gpu" + std::to_string(index);
  if (!IsMig(nvml, handle)) {
    // A slice has a share of the board's units that no datasheet gives.
    const Datasheet sheet = DatasheetOf(device.model(), major, minor, device.memory_bytes());
    for (const auto& [dtype, rate] : sheet.flops) (*device.mutable_peak_flops())[dtype] = rate;
    device.set_peak_bandwidth(sheet.bandwidth);
    device.set_l2_bytes(sheet.l2_bytes);
    if (device.cores() == 0) device.set_cores(sheet.multiprocessors);
  }
  facts.key = device.uuid();
  facts.lock_keys = {device.uuid()};
  facts.cpus = NearCpus(nvml, board);
  facts.runner_env = {{"CUDA_VISIBLE_DEVICES", device.uuid()}, {"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}};
  FillSettings(nvml, handle, board, &facts);
  return facts;
}

struct Found {
  DeviceFacts facts;
  nvmlDevice_t board = nullptr;
  nvmlDevice_t slice = nullptr;  // null: the whole board
};

absl::StatusOr<Found> InitAndFind(const Nvml& nvml, const std::string& spec,
                                  const std::string& kernel_driver) {
  if (const nvmlReturn_t error = nvml.Init(); error != NVML_SUCCESS) {
    if (error == NVML_ERROR_LIB_RM_VERSION_MISMATCH) return Mismatch(nvml, kernel_driver);
    return absl::UnavailableError(std::string("the NVIDIA driver does not start (") +
                                  nvml.ErrorString(error) +
                                  "): check that nvidia-smi works, or use --device cpu");
  }
  auto handle = FindGpu(nvml, spec, kernel_driver);
  if (!handle.ok()) return handle.status();
  return Found{Identity(nvml, *handle), Board(nvml, *handle),
               IsMig(nvml, *handle) ? *handle : nullptr};
}

}  // namespace

absl::StatusOr<OpenedDevice> OpenGpu(const std::string& spec, const std::string& nvml_path,
                                     const std::string& kernel_driver) {
  auto nvml = Nvml::Load(nvml_path);
  if (!nvml.ok()) return nvml.status();
  auto thread = std::make_shared<DeadlineThread>();
  auto found = thread->Get<absl::StatusOr<Found>>(
      [nvml = *nvml, spec, kernel_driver] { return InitAndFind(*nvml, spec, kernel_driver); },
      kOpenDeadlineSeconds);
  if (!found) {
    return absl::DeadlineExceededError(
        "the NVIDIA driver did not answer within 20 s: check that nvidia-smi works");
  }
  if (!found->ok()) return found->status();
  OpenedDevice opened;
  opened.facts = (*found)->facts;
  opened.monitor = MakeGpuMonitor(*nvml, (*found)->board, (*found)->slice, thread, kernel_driver);
  return opened;
}

}  // namespace kbench
