// At most one worker on a device of this host: flock on a file that names its holder. Held until
// the object ends; the kernel releases it when the process dies. Used from main() only.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace kbench {

class DeviceLock {
 public:
  // One file kbench-<key>.lock for each key, in LockDir(). RESOURCE_EXHAUSTED names the process
  // that holds one.
  static absl::StatusOr<DeviceLock> Take(const std::vector<std::string>& keys);

  DeviceLock(DeviceLock&& other) noexcept;
  DeviceLock& operator=(DeviceLock&& other) noexcept;
  DeviceLock(const DeviceLock&) = delete;
  DeviceLock& operator=(const DeviceLock&) = delete;
  ~DeviceLock();

 private:
  DeviceLock() = default;
  std::vector<int> fds_;
};

// $KBENCH_LOCK_DIR, else /run/lock, else /tmp: the first that can be written.
std::string LockDir();

}  // namespace kbench
