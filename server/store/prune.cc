#include "server/store/prune.h"

#include <limits>

#include "proto/support/error.h"

namespace kbench::store {
namespace {

// What one transaction drops at the most, so that no commit waits long for it.
constexpr int kMostArtifacts = 64;
constexpr std::int64_t kMostBytes = 2 << 20;
constexpr int kMostEvents = 500;
constexpr int kFreePagesLeft = 1024;  // 4 MiB: soon used again
constexpr double kNever = -1;

// Artifacts of ended jobs, the oldest first, but none of a case that holds the newest result of a
// cell: that one can still be looked into.
constexpr const char* kOldArtifacts =
    "SELECT a.id, a.size_bytes FROM artifacts a JOIN jobs j ON j.id = a.job "
    "WHERE a.kind = ? AND a.id > ? AND j.state > 1 AND j.ended_at < ? AND NOT EXISTS "
    "(SELECT 1 FROM results r WHERE r.job = a.job AND r.case_index = a.case_index AND NOT EXISTS "
    "(SELECT 1 FROM results n WHERE n.kernel = r.kernel AND n.implementation = r.implementation "
    "AND n.dtype = r.dtype AND n.shape = r.shape AND n.mode = r.mode AND n.device = r.device AND "
    "n.id > r.id)) ORDER BY a.id LIMIT ?";
constexpr const char* kOldEvents =
    "SELECT j.id, (SELECT count(*) FROM events e WHERE e.job = j.id) AS n FROM jobs j "
    "WHERE j.id > ? AND j.state > 1 AND j.ended_at < ? AND n > 0 ORDER BY j.id LIMIT ?";

absl::Status FindArtifacts(Database& db, double ended_before, std::int64_t& looked, Drops& drops) {
  KB_ASSIGN_OR_RETURN(Statement rows, db.Prepare(kOldArtifacts));
  rows.Bind(static_cast<int>(drops.kind)).Bind(looked).Bind(ended_before).Bind(kMostArtifacts);
  std::int64_t bytes = 0;
  while (bytes < kMostBytes) {
    KB_ASSIGN_OR_RETURN(const bool more, rows.Step());
    if (!more) break;
    looked = rows.Int(0);
    bytes += rows.Int(1);
    drops.artifacts.push_back(looked);
  }
  return absl::OkStatus();
}

absl::Status FindEvents(Database& db, double ended_before, std::int64_t& looked, Drops& drops) {
  KB_ASSIGN_OR_RETURN(Statement rows, db.Prepare(kOldEvents));
  rows.Bind(looked).Bind(ended_before).Bind(kMostEvents);
  std::int64_t events = 0;
  for (;;) {
    KB_ASSIGN_OR_RETURN(const bool more, rows.Step());
    if (!more) break;
    events += rows.Int(1);
    if (events > kMostEvents && !drops.jobs.empty()) break;
    drops.jobs.push_back(rows.Int(0));
    // One with more than that takes several turns.
    if (events <= kMostEvents) looked = rows.Int(0);
  }
  return absl::OkStatus();
}

// Device code that no artifact has any more.
absl::StatusOr<std::int64_t> DropContents(Database& db) {
  std::int64_t freed = 0;
  KB_ASSIGN_OR_RETURN(
      Statement drop,
      db.Prepare("DELETE FROM contents WHERE id IN (SELECT c.id FROM contents c WHERE NOT EXISTS "
                 "(SELECT 1 FROM artifacts a WHERE a.shared = c.id) LIMIT 64) "
                 "RETURNING size_bytes"));
  for (;;) {
    KB_ASSIGN_OR_RETURN(const bool more, drop.Step());
    if (!more) return freed;
    freed += drop.Int(0);
  }
}

absl::StatusOr<std::int64_t> DropArtifacts(Database& db, const Drops& drops) {
  std::int64_t freed = 0;
  KB_ASSIGN_OR_RETURN(Statement drop,
                      db.Prepare("DELETE FROM artifacts WHERE id = ? RETURNING "
                                 "CASE WHEN shared IS NULL THEN size_bytes ELSE 0 END"));
  for (const std::int64_t id : drops.artifacts) {
    KB_ASSIGN_OR_RETURN(const bool found, drop.Bind(id).Step());
    if (found) freed += drop.Int(0);
    KB_RETURN_IF_ERROR(drop.Run());
  }
  if (drops.kind != Kind::kArtifacts) return freed;
  KB_ASSIGN_OR_RETURN(const std::int64_t contents, DropContents(db));
  return freed + contents;
}

absl::StatusOr<std::int64_t> DropEvents(Database& db, const Drops& drops) {
  std::int64_t freed = 0;
  KB_ASSIGN_OR_RETURN(
      Statement drop,
      db.Prepare("DELETE FROM events WHERE job = ? AND sequence IN (SELECT sequence FROM events "
                 "WHERE job = ? ORDER BY sequence LIMIT ?) RETURNING length(payload)"));
  for (const std::int64_t job : drops.jobs) {
    drop.Bind(job).Bind(job).Bind(kMostEvents);
    for (;;) {
      KB_ASSIGN_OR_RETURN(const bool more, drop.Step());
      if (!more) break;
      freed += drop.Int(0);
    }
    KB_RETURN_IF_ERROR(drop.Run());
  }
  return freed;
}

}  // namespace

absl::StatusOr<KeptBytes> ReadKeptBytes(Database& db) {
  KeptBytes bytes;
  {
    KB_ASSIGN_OR_RETURN(Statement rows, db.Prepare("SELECT kind, sum(CASE WHEN shared IS NULL THEN "
                                                   "size_bytes ELSE 0 END) FROM artifacts "
                                                   "GROUP BY kind"));
    for (const Kind kind : kKinds) bytes[KindName(kind)] = 0;
    for (;;) {
      KB_ASSIGN_OR_RETURN(const bool more, rows.Step());
      if (!more) break;
      const auto kind = static_cast<std::size_t>(rows.Int(0));
      if (kind < kKinds.size()) bytes[KindName(kKinds[kind])] = rows.Int(1);
    }
  }
  KB_ASSIGN_OR_RETURN(const std::int64_t shared,
                      db.QueryInt("SELECT coalesce(sum(size_bytes), 0) FROM contents"));
  bytes[KindName(Kind::kArtifacts)] += shared;
  KB_ASSIGN_OR_RETURN(bytes[KindName(Kind::kEvents)],
                      db.QueryInt("SELECT coalesce(sum(length(payload)), 0) FROM events"));
  KB_ASSIGN_OR_RETURN(bytes["results"],
                      db.QueryInt("SELECT coalesce(sum(length(payload)), 0) FROM results"));
  return bytes;
}

absl::StatusOr<Drops> DropFinder::Find(Database& db, const Retention& retention, double now,
                                       const KeptBytes& bytes) {
  Drops drops;
  for (const Kind kind : kKinds) {
    const Keep& keep = retention.Of(kind);
    const auto kept = bytes.find(KindName(kind));
    double ended_before = keep.seconds > 0 ? now - keep.seconds : kNever;
    if (keep.bytes > 0 && kept != bytes.end() && kept->second > keep.bytes) {
      ended_before = std::numeric_limits<double>::max();
    }
    if (ended_before == kNever) continue;
    drops.kind = kind;
    KB_RETURN_IF_ERROR(kind == Kind::kEvents
                           ? FindEvents(db, ended_before, looked_[kind], drops)
                           : FindArtifacts(db, ended_before, looked_[kind], drops));
    if (!drops.empty()) return drops;
  }
  looked_.clear();
  KB_ASSIGN_OR_RETURN(const std::int64_t free, db.QueryInt("PRAGMA freelist_count"));
  KB_ASSIGN_OR_RETURN(const std::int64_t vacuum, db.QueryInt("PRAGMA auto_vacuum"));
  drops.vacuum = vacuum == 2 && free > kFreePagesLeft;
  return drops;
}

absl::Status Drop(Database& db, const Drops& drops, KeptBytes& bytes) {
  // Each page at the end of the file has to be moved.
  if (drops.vacuum) return db.Execute("PRAGMA incremental_vacuum(256)");
  KB_ASSIGN_OR_RETURN(const std::int64_t freed, drops.kind == Kind::kEvents
                                                    ? DropEvents(db, drops)
                                                    : DropArtifacts(db, drops));
  bytes[KindName(drops.kind)] -= freed;
  return absl::OkStatus();
}

}  // namespace kbench::store
