#include "server/store/data_dir_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "proto/support/error.h"

namespace kbench::store {

absl::StatusOr<std::unique_ptr<DataDirLock>> DataDirLock::Take(const std::string& data_dir) {
  const std::string path = data_dir + "/server.lock";
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) {
    return MakeError(absl::StatusCode::kPermissionDenied,
                     "the data directory " + data_dir + " cannot be written (" +
                         std::strerror(errno) + "); give a --data-dir this user may write to",
                     {.reason = "STORE_NOT_WRITABLE"});
  }
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    char pid[32] = {};
    const ssize_t size = pread(fd, pid, sizeof(pid) - 1, 0);
    close(fd);
    return MakeError(absl::StatusCode::kFailedPrecondition,
                     "another kbench-server (pid " + std::string(size > 0 ? pid : "unknown") +
                         ") uses the data directory " + data_dir +
                         "; stop it, or give another --data-dir",
                     {.reason = "DATA_DIR_IN_USE"});
  }
  const std::string pid = std::to_string(getpid());
  if (ftruncate(fd, 0) != 0 ||
      pwrite(fd, pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size())) {
    const std::string what = std::strerror(errno);
    close(fd);
    return MakeError(absl::StatusCode::kPermissionDenied, path + " cannot be written: " + what,
                     {.reason = "STORE_NOT_WRITABLE"});
  }
  return std::unique_ptr<DataDirLock>(new DataDirLock(fd));
}

DataDirLock::~DataDirLock() { close(fd_); }

}  // namespace kbench::store
