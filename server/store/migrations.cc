#include "server/store/migrations.h"

#include "proto/support/error.h"
#include "server/store/devices.h"
#include "server/store/records.h"

namespace kbench::store {
namespace {

constexpr std::int64_t kApplicationId = 0x6b62656e;  // "kben"

constexpr char kFirstSchema[] = R"sql(
CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO counters VALUES ('next_epoch', 1);

-- Times are seconds since the epoch, 0: not yet. state is scheduler::State.
CREATE TABLE jobs (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL UNIQUE,
  owner TEXT NOT NULL,
  request_id TEXT UNIQUE,
  request_digest TEXT NOT NULL,
  spec BLOB NOT NULL,
  created_at REAL NOT NULL,
  priority INTEGER NOT NULL,
  line_order INTEGER NOT NULL,
  device TEXT NOT NULL,
  queue_deadline REAL NOT NULL,
  state INTEGER NOT NULL DEFAULT 0,
  reason TEXT NOT NULL DEFAULT '',
  message TEXT NOT NULL DEFAULT '',
  cancel_requested INTEGER NOT NULL DEFAULT 0,
  started_at REAL NOT NULL DEFAULT 0,
  ended_at REAL NOT NULL DEFAULT 0,
  last_sequence INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX jobs_by_state ON jobs (state, id);
CREATE INDEX jobs_by_owner ON jobs (owner, id);

CREATE TABLE cases (
  job INTEGER NOT NULL REFERENCES jobs (id),
  case_index INTEGER NOT NULL,
  state INTEGER NOT NULL DEFAULT 0,
  attempts INTEGER NOT NULL DEFAULT 0,
  infra_failures INTEGER NOT NULL DEFAULT 0,
  worker_deaths INTEGER NOT NULL DEFAULT 0,
  open_epoch INTEGER NOT NULL DEFAULT 0,
  device TEXT NOT NULL DEFAULT '',
  worker TEXT NOT NULL DEFAULT '',
  reason TEXT NOT NULL DEFAULT '',
  message TEXT NOT NULL DEFAULT '',
  started_at REAL NOT NULL DEFAULT 0,
  ended_at REAL NOT NULL DEFAULT 0,
  lease_worker TEXT,
  lease_boot TEXT,
  lease_attempt INTEGER,
  lease_epoch INTEGER,
  PRIMARY KEY (job, case_index)
) STRICT, WITHOUT ROWID;

CREATE TABLE events (
  job INTEGER NOT NULL REFERENCES jobs (id),
  sequence INTEGER NOT NULL,
  payload BLOB NOT NULL,
  PRIMARY KEY (job, sequence)
) STRICT, WITHOUT ROWID;

CREATE TABLE results (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL UNIQUE,
  job INTEGER NOT NULL REFERENCES jobs (id),
  case_index INTEGER NOT NULL,
  kernel TEXT NOT NULL,
  implementation TEXT NOT NULL,
  dtype TEXT NOT NULL,
  shape TEXT NOT NULL,
  mode TEXT NOT NULL,
  device TEXT NOT NULL,
  is_default INTEGER NOT NULL,
  payload BLOB NOT NULL
) STRICT;
CREATE INDEX results_by_case ON results (job, case_index, id);
CREATE INDEX results_by_key ON results (kernel, implementation, dtype, shape, mode, device, id);
CREATE INDEX results_default
  ON results (kernel, implementation, dtype, shape, mode, device, id) WHERE is_default = 1;

CREATE TABLE artifacts (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL UNIQUE,
  job INTEGER NOT NULL REFERENCES jobs (id),
  media_type TEXT NOT NULL,
  size_bytes INTEGER NOT NULL,
  content BLOB NOT NULL
) STRICT;
CREATE INDEX artifacts_by_job ON artifacts (job, id);
)sql";

// Device code is the same in job after job: its bytes are kept once, and found by their size. An
// artifact with a row here has no content of its own.
constexpr char kSharedContents[] = R"sql(
CREATE TABLE contents (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  size_bytes INTEGER NOT NULL,
  content BLOB NOT NULL
) STRICT;
CREATE INDEX contents_by_size ON contents (size_bytes);
ALTER TABLE artifacts ADD COLUMN shared INTEGER REFERENCES contents (id);
)sql";

// A case may end with the results of a case of another job, which stay that job's rows. Those that
// killed their workers are looked for by time.
constexpr char kSharedResults[] = R"sql(
ALTER TABLE cases ADD COLUMN results_of TEXT NOT NULL DEFAULT '';
ALTER TABLE cases ADD COLUMN results_case INTEGER NOT NULL DEFAULT 0;
CREATE INDEX cases_poison ON cases (ended_at) WHERE reason = 'POISON';
)sql";

// Device-seconds of every owner as of a time, from which they decay (scheduler::OwnerUsage).
constexpr char kOwnerUsage[] = R"sql(
CREATE TABLE owner_usage (
  owner TEXT PRIMARY KEY,
  seconds REAL NOT NULL,
  as_of REAL NOT NULL
) STRICT, WITHOUT ROWID;
)sql";

// What artifacts are kept for how long by their kind (store::Kind), and the oldest of a kind go
// first; which case one belongs to says whether it is still needed.
constexpr char kKindsOfArtifacts[] = R"sql(
ALTER TABLE artifacts ADD COLUMN kind INTEGER NOT NULL DEFAULT 2;
ALTER TABLE artifacts ADD COLUMN case_index INTEGER NOT NULL DEFAULT -1;
UPDATE artifacts SET case_index = CAST(substr(substr(name, instr(name, '-') + 1), 1,
  instr(substr(name, instr(name, '-') + 1), '-') - 1) AS INTEGER) WHERE name LIKE '%-%-%';
UPDATE artifacts SET kind = 0 WHERE name GLOB 'artifacts/*-' || case_index || '-samples-*';
UPDATE artifacts SET kind = 1 WHERE name GLOB 'artifacts/*-' || case_index || '-log-*'
  OR name GLOB 'artifacts/*-' || case_index || '-attempt*';
CREATE INDEX artifacts_by_kind ON artifacts (kind, id);
CREATE INDEX artifacts_by_shared ON artifacts (shared) WHERE shared IS NOT NULL;
)sql";

// Exit codes of the commands that held a device. Few jobs are holds: a table of their own.
constexpr char kHoldEnds[] = R"sql(
CREATE TABLE hold_ends (
  job INTEGER PRIMARY KEY REFERENCES jobs (id),
  exit_code INTEGER NOT NULL
) STRICT;
)sql";

// Deaths of workers count together over jobs: those of ended ones are looked for by time.
constexpr char kDeaths[] = R"sql(
DROP INDEX cases_poison;
CREATE INDEX cases_deaths ON cases (ended_at) WHERE worker_deaths > 0;
)sql";

absl::Status Refuse(const std::string& message, const char* reason) {
  return MakeError(absl::StatusCode::kFailedPrecondition, message, {.reason = reason});
}

}  // namespace

const std::vector<std::string>& Migrations() {
  static const std::vector<std::string>* const steps = new std::vector<std::string>{
      kFirstSchema,  kSharedContents, kOwnerUsage,        kKindsOfArtifacts, kHoldEnds,
      kDeviceTables, kSharedResults,  kMaintenanceByKind, kDeaths,           kRecordTable};
  return *steps;
}

absl::Status CheckSchema(Database& db) {
  KB_ASSIGN_OR_RETURN(const std::int64_t version, db.QueryInt("PRAGMA user_version"));
  if (version == static_cast<std::int64_t>(Migrations().size())) return absl::OkStatus();
  return Refuse(db.path() + " was written by another version of kbench (schema " +
                    std::to_string(version) +
                    "); use that version, or start this one's server once",
                "STORE_VERSION");
}

absl::Status Migrate(Database& db) {
  const auto newest = static_cast<std::int64_t>(Migrations().size());
  KB_ASSIGN_OR_RETURN(const std::int64_t tables, db.QueryInt("SELECT count(*) FROM sqlite_schema"));
  KB_ASSIGN_OR_RETURN(const std::int64_t application, db.QueryInt("PRAGMA application_id"));
  KB_ASSIGN_OR_RETURN(const std::int64_t version, db.QueryInt("PRAGMA user_version"));
  if (tables > 0 && application != kApplicationId) {
    return Refuse(db.path() + " is another program's database; give another --data-dir",
                  "STORE_FOREIGN");
  }
  if (version > newest) {
    return Refuse(db.path() + " was written by a newer kbench (schema " + std::to_string(version) +
                      ", this one knows up to " + std::to_string(newest) +
                      "); install that version, or give another --data-dir",
                  "STORE_NEWER");
  }
  for (std::int64_t step = version; step < newest; ++step) {
    const absl::Status status =
        db.Execute("BEGIN IMMEDIATE;" + Migrations()[static_cast<std::size_t>(step)] +
                   ";PRAGMA application_id=" + std::to_string(kApplicationId) +
                   ";PRAGMA user_version=" + std::to_string(step + 1) + ";COMMIT;");
    if (status.ok()) continue;
    if (db.InTransaction()) db.Execute("ROLLBACK").IgnoreError();
    return status;
  }
  return absl::OkStatus();
}

}  // namespace kbench::store
