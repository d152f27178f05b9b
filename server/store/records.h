// Small things that others than the scheduler remember, each whole and by its key: schedules, what
// is thought of a cell. The store does not look into them.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/store/database.h"

namespace kbench::store {

struct Record {
  std::string kind;     // "schedule", "schedule-skips", "cell"
  std::string key;      // unique within its kind
  std::string payload;  // a serialized message; empty: it has gone
};

// The table, as one migration.
extern const char kRecordTable[];

absl::Status ApplyRecords(Database& db, const std::vector<Record>& records);
// By key.
absl::StatusOr<std::vector<Record>> ReadRecords(Database& db, const std::string& kind);

}  // namespace kbench::store
