#include "server/store/records.h"

#include "proto/support/error.h"

namespace kbench::store {
namespace {

absl::Status Apply(Database& db, const Record& record) {
  if (record.payload.empty()) {
    KB_ASSIGN_OR_RETURN(Statement gone,
                        db.Prepare("DELETE FROM records WHERE kind = ? AND key = ?"));
    return gone.Bind(record.kind).Bind(record.key).Run();
  }
  KB_ASSIGN_OR_RETURN(
      Statement put,
      db.Prepare("INSERT OR REPLACE INTO records (kind, key, payload) VALUES (?, ?, ?)"));
  return put.Bind(record.kind).Bind(record.key).BindBlob(record.payload).Run();
}

}  // namespace

const char kRecordTable[] = R"sql(
CREATE TABLE records (
  kind TEXT NOT NULL,
  key TEXT NOT NULL,
  payload BLOB NOT NULL,
  PRIMARY KEY (kind, key)
) STRICT, WITHOUT ROWID;
)sql";

absl::Status ApplyRecords(Database& db, const std::vector<Record>& records) {
  for (const Record& record : records) KB_RETURN_IF_ERROR(Apply(db, record));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Record>> ReadRecords(Database& db, const std::string& kind) {
  KB_ASSIGN_OR_RETURN(Statement rows,
                      db.Prepare("SELECT key, payload FROM records WHERE kind = ? ORDER BY key"));
  rows.Bind(kind);
  std::vector<Record> records;
  for (;;) {
    KB_ASSIGN_OR_RETURN(const bool more, rows.Step());
    if (!more) return records;
    records.push_back({kind, std::string(rows.Text(0)), std::string(rows.Blob(1))});
  }
}

}  // namespace kbench::store
