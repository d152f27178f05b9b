#include "server/store/devices.h"

#include <cmath>
#include <utility>

#include "proto/support/clock.h"
#include "proto/support/error.h"

namespace kbench::store {
namespace {

using kbench::v1::Maintenance;

absl::Status PutKnown(Database& db, const KnownDevice& known) {
  KB_ASSIGN_OR_RETURN(
      Statement put,
      db.Prepare("INSERT INTO devices (name, seen_at, payload) VALUES (?, ?, ?) ON CONFLICT (name) "
                 "DO UPDATE SET seen_at = excluded.seen_at, payload = excluded.payload"));
  const std::string payload = known.device.SerializeAsString();
  return put.Bind(known.device.name()).Bind(known.seen_at).BindBlob(payload).Run();
}

absl::Status Forget(Database& db, const std::string& name) {
  KB_ASSIGN_OR_RETURN(Statement gone, db.Prepare("DELETE FROM devices WHERE name = ?"));
  return gone.Bind(name).Run();
}

absl::Status PutMaintenance(Database& db, const MaintenanceRecord& record) {
  const Maintenance& maintenance = record.maintenance;
  if (record.ended) {
    KB_ASSIGN_OR_RETURN(
        Statement end,
        db.Prepare("DELETE FROM maintenance WHERE device = ? AND automatic = ? AND kind = ?"));
    return end.Bind(record.device).Bind(record.automatic).Bind(maintenance.kind()).Run();
  }
  KB_ASSIGN_OR_RETURN(
      Statement put, db.Prepare("INSERT OR REPLACE INTO maintenance "
                                "(device, automatic, kind, reason, asked_by, since, good_canaries) "
                                "VALUES (?, ?, ?, ?, ?, ?, ?)"));
  return put.Bind(record.device)
      .Bind(record.automatic)
      .Bind(maintenance.kind())
      .Bind(maintenance.reason())
      .Bind(maintenance.by())
      .Bind(static_cast<double>(ToMicros(maintenance.since())) * 1e-6)
      .Bind(maintenance.good_canaries())
      .Run();
}

absl::Status PutFault(Database& db, const HandledFault& fault) {
  KB_ASSIGN_OR_RETURN(
      Statement put,
      db.Prepare(
          "INSERT OR REPLACE INTO handled_faults (device, boot_id, number) VALUES (?, ?, ?)"));
  return put.Bind(fault.device).Bind(fault.boot_id).Bind(fault.number).Run();
}

absl::Status PutDefault(Database& db, const DefaultDevice& chosen) {
  if (chosen.device.empty()) {
    KB_ASSIGN_OR_RETURN(Statement end, db.Prepare("DELETE FROM default_devices WHERE owner = ?"));
    return end.Bind(chosen.owner).Run();
  }
  KB_ASSIGN_OR_RETURN(
      Statement put,
      db.Prepare("INSERT OR REPLACE INTO default_devices (owner, device) VALUES (?, ?)"));
  return put.Bind(chosen.owner).Bind(chosen.device).Run();
}

// Calls `take` on every row.
template <typename Take>
absl::Status ForEachRow(Database& db, const char* sql, Take take) {
  KB_ASSIGN_OR_RETURN(Statement rows, db.Prepare(sql));
  for (;;) {
    KB_ASSIGN_OR_RETURN(const bool more, rows.Step());
    if (!more) return absl::OkStatus();
    KB_RETURN_IF_ERROR(take(rows));
  }
}

absl::Status TakeKnown(const Statement& row, std::vector<KnownDevice>& known) {
  KnownDevice device;
  device.seen_at = row.Double(0);
  const std::string_view payload = row.Blob(1);
  if (!device.device.ParseFromArray(payload.data(), static_cast<int>(payload.size()))) {
    return MakeError(absl::StatusCode::kDataLoss, "the store holds an unreadable device",
                     {.reason = "STORE_DAMAGED"});
  }
  known.push_back(std::move(device));
  return absl::OkStatus();
}

MaintenanceRecord ToMaintenance(const Statement& row) {
  MaintenanceRecord record;
  record.device = row.Text(0);
  record.automatic = row.Int(1) != 0;
  record.maintenance.set_kind(row.Text(2));
  record.maintenance.set_reason(row.Text(3));
  record.maintenance.set_by(row.Text(4));
  *record.maintenance.mutable_since() = ToTimestamp(std::llround(row.Double(5) * 1e6));
  record.maintenance.set_good_canaries(static_cast<int>(row.Int(6)));
  return record;
}

}  // namespace

const char kDeviceTables[] = R"sql(
CREATE TABLE devices (
  name TEXT PRIMARY KEY,
  seen_at REAL NOT NULL,
  payload BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE maintenance (
  device TEXT NOT NULL,
  automatic INTEGER NOT NULL,
  kind TEXT NOT NULL,
  reason TEXT NOT NULL,
  asked_by TEXT NOT NULL,
  since REAL NOT NULL,
  good_canaries INTEGER NOT NULL,
  PRIMARY KEY (device, automatic)
) STRICT, WITHOUT ROWID;

CREATE TABLE handled_faults (
  device TEXT PRIMARY KEY,
  boot_id TEXT NOT NULL,
  number INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE default_devices (
  owner TEXT PRIMARY KEY,
  device TEXT NOT NULL
) STRICT, WITHOUT ROWID;
)sql";

const char kMaintenanceByKind[] = R"sql(
CREATE TABLE maintenance_by_kind (
  device TEXT NOT NULL,
  automatic INTEGER NOT NULL,
  kind TEXT NOT NULL,
  reason TEXT NOT NULL,
  asked_by TEXT NOT NULL,
  since REAL NOT NULL,
  good_canaries INTEGER NOT NULL,
  PRIMARY KEY (device, automatic, kind)
) STRICT, WITHOUT ROWID;
INSERT INTO maintenance_by_kind
  SELECT device, automatic, kind, reason, asked_by, since, good_canaries FROM maintenance;
DROP TABLE maintenance;
ALTER TABLE maintenance_by_kind RENAME TO maintenance;
)sql";

absl::Status ApplyDevices(Database& db, const DeviceChanges& changes) {
  for (const auto& name : changes.forgotten) KB_RETURN_IF_ERROR(Forget(db, name));
  for (const auto& known : changes.known) KB_RETURN_IF_ERROR(PutKnown(db, known));
  for (const auto& record : changes.maintenance) KB_RETURN_IF_ERROR(PutMaintenance(db, record));
  for (const auto& fault : changes.faults) KB_RETURN_IF_ERROR(PutFault(db, fault));
  for (const auto& chosen : changes.defaults) KB_RETURN_IF_ERROR(PutDefault(db, chosen));
  return absl::OkStatus();
}

absl::StatusOr<StoredDevices> ReadDevices(Database& db) {
  StoredDevices all;
  KB_RETURN_IF_ERROR(ForEachRow(db, "SELECT seen_at, payload FROM devices ORDER BY name",
                                [&](const Statement& row) { return TakeKnown(row, all.known); }));
  KB_RETURN_IF_ERROR(ForEachRow(
      db, "SELECT device, automatic, kind, reason, asked_by, since, good_canaries FROM maintenance",
      [&](const Statement& row) {
        all.maintenance.push_back(ToMaintenance(row));
        return absl::OkStatus();
      }));
  KB_RETURN_IF_ERROR(ForEachRow(db, "SELECT device, boot_id, number FROM handled_faults",
                                [&](const Statement& row) {
                                  all.faults.push_back({row.Text(0), row.Text(1), row.Int(2)});
                                  return absl::OkStatus();
                                }));
  KB_RETURN_IF_ERROR(
      ForEachRow(db, "SELECT owner, device FROM default_devices", [&](const Statement& row) {
        all.defaults.push_back({row.Text(0), row.Text(1)});
        return absl::OkStatus();
      }));
  return all;
}

}  // namespace kbench::store
