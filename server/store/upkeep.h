// What keeps a store in order beside its daily work: backups, checks, the bytes it keeps of what,
// and dropping what need not be kept any longer. Thread-safe; nothing here holds up a commit for
// longer than a small transaction. All of it blocks: not from gRPC's reactions.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/store/retention.h"

namespace kbench::store {

class Upkeep {
 public:
  virtual ~Upkeep() = default;

  // A consistent copy as of now in the new folder `dir`, durable when this returns: its bytes.
  // ALREADY_EXISTS when the folder is there.
  virtual absl::StatusOr<std::int64_t> Backup(const std::string& dir) = 0;
  // What is wrong, one sentence each; empty: nothing. Reads everything.
  virtual absl::StatusOr<std::vector<std::string>> Check() = 0;
  // By kind: database, wal, results, code, and those of retention.h.
  virtual absl::StatusOr<std::map<std::string, std::int64_t>> Bytes() = 0;
  // Drops the oldest of what is beyond its bounds, in one small transaction, and gives freed pages
  // back to the file system. `bytes` is what Bytes() said, less what has been dropped since: it is
  // brought up to date. True: there may be more. `now` in seconds since the epoch.
  virtual absl::StatusOr<bool> Prune(const Retention& retention, double now,
                                     std::map<std::string, std::int64_t>& bytes) = 0;
};

}  // namespace kbench::store
