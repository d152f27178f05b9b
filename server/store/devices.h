// Devices in SQLite: changes applied by the writer inside a savepoint, and all of them read.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/store/database.h"
#include "server/store/device_records.h"

namespace kbench::store {

// The tables, as one migration.
extern const char kDeviceTables[];

absl::Status ApplyDevices(Database& db, const DeviceChanges& changes);
absl::StatusOr<StoredDevices> ReadDevices(Database& db);

}  // namespace kbench::store
