// The bytes that the store keeps of what, and dropping the oldest beyond the bounds: what may go is
// looked for on a reader, and dropped in small transactions on the writer.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/store/database.h"
#include "server/store/retention.h"

namespace kbench::store {

using KeptBytes = std::map<std::string, std::int64_t>;

// Inside a read transaction.
absl::StatusOr<KeptBytes> ReadKeptBytes(Database& db);

// What one transaction drops.
struct Drops {
  Kind kind = Kind::kSamples;
  std::vector<std::int64_t> artifacts;  // rows
  std::vector<std::int64_t> jobs;       // rows whose events go
  bool vacuum = false;                  // free pages are given back
  bool empty() const { return artifacts.empty() && jobs.empty() && !vacuum; }
};

// Of one thread.
class DropFinder {
 public:
  // Inside a read transaction. Empty: nothing is beyond its bounds any more; the next look begins
  // at the oldest again.
  absl::StatusOr<Drops> Find(Database& db, const Retention& retention, double now,
                             const KeptBytes& bytes);

 private:
  std::map<Kind, std::int64_t> looked_;  // up to this row, since the last beginning
};

// Inside a write transaction. `bytes` goes down with what was dropped.
absl::Status Drop(Database& db, const Drops& drops, KeptBytes& bytes);

}  // namespace kbench::store
