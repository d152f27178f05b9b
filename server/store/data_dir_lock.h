// The right to use a data directory: one coordinator at a time. Held (by flock on server.lock)
// until destroyed or the process dies.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace kbench::store {

class DataDirLock {
 public:
  // FAILED_PRECONDITION names the process that holds it, PERMISSION_DENIED the folder.
  static absl::StatusOr<std::unique_ptr<DataDirLock>> Take(const std::string& data_dir);
  ~DataDirLock();
  DataDirLock(const DataDirLock&) = delete;
  DataDirLock& operator=(const DataDirLock&) = delete;

 private:
  explicit DataDirLock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace kbench::store
