#include "worker/device/device.h"

#include <algorithm>
#include <cctype>

#include "worker/device/cpu_device.h"
#include "worker/device/gpu_device.h"

namespace kbench {

absl::StatusOr<OpenedDevice> OpenDevice(const std::string& spec, const std::string& nvml,
                                        const std::string& kernel_driver) {
  if (spec == "cpu") return OpenCpu("");
  if (spec.rfind("cpu:", 0) == 0) return OpenCpu(spec.substr(4));
  const bool digits =
      !spec.empty() && spec.size() <= 4 &&
      std::all_of(spec.begin(), spec.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
  const bool uuid = spec.rfind("GPU-", 0) == 0 || spec.rfind("MIG-", 0) == 0;
  if (digits || uuid) return OpenGpu(spec, nvml, kernel_driver);
  return absl::InvalidArgumentError("no device is called '" + spec +
                                    "': use cpu, cpu:0-3, a GPU's index, GPU-<uuid> or MIG-<uuid>");
}

}  // namespace kbench
