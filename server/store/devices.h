// Devices in SQLite: changes applied by the writer inside a savepoint, and all of them read.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/store/database.h"
#include "server/store/device_records.h"

namespace kbench::store {

// Migrations: the tables, and a drain and a quarantine beside each other.
extern const char kDeviceTables[];
extern const char kMaintenanceByKind[];

absl::Status ApplyDevices(Database& db, const DeviceChanges& changes);
absl::StatusOr<StoredDevices> ReadDevices(Database& db);

}  // namespace kbench::store
