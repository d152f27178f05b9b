// The embedded back end: one SQLite file in the data directory (WAL, synchronous=FULL), one writer
// thread, a small pool of readers. Holds the data directory's lock while it lives.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/store/store.h"

namespace kbench::store {

struct SqliteOptions {
  std::string data_dir;  // made when it is not there
  int readers = 2;
  const char* vfs = nullptr;  // the name of a registered SQLite VFS; null: the default
  // The write-ahead log is made this long at the start. While it grows, every sync changes the size
  // of a file too, and waits for what others write to the same file system.
  std::int64_t log_bytes = 0;
  // Seconds of each commit and how many batches shared it; on the writer's thread. May be null.
  std::function<void(double seconds, int batches)> observe_commit = nullptr;
};

// Each way this fails is one line that says what to do: a folder that cannot be written, another
// coordinator that uses it, a file that is damaged, another program's, or of a newer kbench.
absl::StatusOr<std::unique_ptr<Store>> OpenSqliteStore(const SqliteOptions& options);

}  // namespace kbench::store
