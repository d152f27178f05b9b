#include "worker/device/device_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace kbench {
namespace {

// Other users' workers must see the file too. In a sticky folder the kernel forbids O_CREAT on
// somebody else's file (fs.protected_regular), so first try without.
int OpenLockFile(const std::string& path) {
  for (int attempt = 0; attempt < 3; ++attempt) {
    int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (fd < 0 && errno == EACCES) fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd >= 0 || errno != ENOENT) return fd;
    fd = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0) {
      fchmod(fd, 0666);
      return fd;
    }
  }
  return -1;
}

std::string Holder(int fd) {
  char text[32] = {};
  if (pread(fd, text, sizeof(text) - 1, 0) <= 0) return "another process";
  const long pid = std::strtol(text, nullptr, 10);
  return pid > 0 ? "process " + std::to_string(pid) : "another process";
}

}  // namespace

std::string LockDir() {
  if (const char* dir = std::getenv("KBENCH_LOCK_DIR"); dir != nullptr && *dir != '\0') return dir;
  return access("/run/lock", W_OK) == 0 ? "/run/lock" : "/tmp";
}

absl::StatusOr<DeviceLock> DeviceLock::Take(const std::vector<std::string>& keys) {
  DeviceLock lock;
  for (const std::string& key : keys) {
    const std::string path = LockDir() + "/kbench-" + key + ".lock";
    const int fd = OpenLockFile(path);
    if (fd < 0) {
      return absl::PermissionDeniedError("cannot open the lock file " + path + ": " +
                                         std::strerror(errno) +
                                         "; set KBENCH_LOCK_DIR to a folder that can be written");
    }
    lock.fds_.push_back(fd);
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
      return absl::ResourceExhaustedError("the device " + key + " is held by " + Holder(fd) + " (" +
                                          path +
                                          "): one device has one worker; stop that one first");
    }
    const std::string pid = std::to_string(getpid()) + "\n";
    // A file of another user may be read-only to us: the lock holds all the same.
    if (ftruncate(fd, 0) == 0) {
      [[maybe_unused]] const auto written = pwrite(fd, pid.data(), pid.size(), 0);
    }
  }
  return lock;
}

DeviceLock::DeviceLock(DeviceLock&& other) noexcept : fds_(std::exchange(other.fds_, {})) {}

DeviceLock& DeviceLock::operator=(DeviceLock&& other) noexcept {
  std::swap(fds_, other.fds_);
  return *this;
}

DeviceLock::~DeviceLock() {
  for (const int fd : fds_) close(fd);
}

}  // namespace kbench
