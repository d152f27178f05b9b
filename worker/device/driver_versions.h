// Whether the NVIDIA driver in the kernel and the library on the disk are of one version. An
// upgrade without a restart of the machine leaves the old one in the kernel: programs that run go
// on, new ones (and so every runner) fail. Reads small files; thread-safe.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace kbench {

struct DriverVersions {
  std::string kernel;   // of the loaded kernel module; empty: unknown
  std::string library;  // that a new program would load; empty: unknown

  bool known() const { return !kernel.empty() && !library.empty(); }
};

inline constexpr char kKernelDriverFile[] = "/proc/driver/nvidia/version";

// `library` is a file or a link: "/usr/lib/.../libnvidia-ml.so.1" leads to one that ends in its
// version.
DriverVersions ReadDriverVersions(const std::string& library,
                                  const std::string& kernel_file = kKernelDriverFile);

// One sentence with both versions where they are known.
std::string MismatchMessage(const DriverVersions& versions);

// What OpenDevice() answers then, and whether an answer is that.
absl::Status DriverMismatch(const DriverVersions& versions);
bool IsDriverMismatch(const absl::Status& status);

}  // namespace kbench
