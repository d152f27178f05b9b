#include "server/store/check.h"

#include "kbench/v1/job.pb.h"
#include "proto/support/error.h"

namespace kbench::store {
namespace {

constexpr std::int64_t kSmallFilePages = 4 * 1024;  // 16 MiB of 4 KiB pages
constexpr int kMostOfAKind = 5;

// A query that finds nothing in a sound store. Its first column names what is wrong.
struct Invariant {
  const char* sql;
  const char* says;
};

constexpr Invariant kInvariants[] = {
    {"SELECT name FROM jobs WHERE state NOT BETWEEN 0 AND 5 LIMIT 5", " has no known state"},
    {"SELECT name FROM jobs WHERE (state > 1) <> (ended_at > 0) LIMIT 5",
     " has an end and has not ended, or the other way round"},
    {"SELECT name FROM jobs j WHERE (state > 1) = EXISTS (SELECT 1 FROM cases c "
     "WHERE c.job = j.id AND c.state <= 1) LIMIT 5",
     " has ended though a case has not, or the other way round"},
    {"SELECT j.name || ' case ' || c.case_index FROM cases c JOIN jobs j ON j.id = c.job "
     "WHERE (c.state = 1) <> (c.lease_epoch IS NOT NULL) LIMIT 5",
     " has a lease and does not run, or the other way round"},
    {"SELECT j.name || ' case ' || c.case_index FROM cases c JOIN jobs j ON j.id = c.job "
     "WHERE max(c.open_epoch, coalesce(c.lease_epoch, 0)) >= "
     "(SELECT value FROM counters WHERE name = 'next_epoch') LIMIT 5",
     " holds an epoch that was never given"},
    {"SELECT r.name FROM results r LEFT JOIN cases c ON c.job = r.job "
     "AND c.case_index = r.case_index WHERE c.job IS NULL OR c.state <= 1 LIMIT 5",
     " belongs to no case that has ended"},
    // Of a job that has ended the oldest may have been dropped.
    {"SELECT j.name FROM jobs j LEFT JOIN (SELECT job, count(*) AS n, min(sequence) AS low, "
     "max(sequence) AS high FROM events GROUP BY job) e ON e.job = j.id "
     "WHERE (e.n IS NULL AND j.last_sequence > 0 AND j.state <= 1) OR (e.n IS NOT NULL AND "
     "(e.high <> j.last_sequence OR e.n <> e.high - e.low + 1 OR (j.state <= 1 AND e.low <> 1))) "
     "LIMIT 5",
     " has a gap in its events"},
};

absl::Status CollectPragma(Database& db, const char* pragma, std::vector<std::string>& problems) {
  KB_ASSIGN_OR_RETURN(Statement rows, db.Prepare(pragma));
  for (;;) {
    KB_ASSIGN_OR_RETURN(const bool more, rows.Step());
    if (!more) return absl::OkStatus();
    if (rows.Text(0) != "ok") problems.push_back(rows.Text(0));
  }
}

absl::Status CollectInvariant(Database& db, const Invariant& invariant,
                              std::vector<std::string>& problems) {
  KB_ASSIGN_OR_RETURN(Statement rows, db.Prepare(invariant.sql));
  for (;;) {
    KB_ASSIGN_OR_RETURN(const bool more, rows.Step());
    if (!more) return absl::OkStatus();
    problems.push_back(rows.Text(0) + invariant.says);
  }
}

// Every case that a job's specification names is there. A hold is one case that it does not name.
absl::Status CollectMissingCases(Database& db, std::vector<std::string>& problems) {
  KB_ASSIGN_OR_RETURN(Statement rows,
                      db.Prepare("SELECT j.name, j.spec, count(c.case_index), "
                                 "coalesce(max(c.case_index), -1) FROM jobs j "
                                 "LEFT JOIN cases c ON c.job = j.id GROUP BY j.id ORDER BY j.id"));
  int found = 0;
  for (;;) {
    KB_ASSIGN_OR_RETURN(const bool more, rows.Step());
    if (!more || found == kMostOfAKind) return absl::OkStatus();
    kbench::v1::JobSpec spec;
    const std::string_view bytes = rows.Blob(1);
    if (!spec.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
      problems.push_back(rows.Text(0) + " cannot be read");
      ++found;
      continue;
    }
    const int cases = std::max(1, spec.cases_size());
    if (rows.Int(2) == cases && rows.Int(3) == cases - 1) continue;
    problems.push_back(rows.Text(0) + " has " + std::to_string(rows.Int(2)) + " cases instead of " +
                       std::to_string(cases));
    ++found;
  }
}

}  // namespace

absl::StatusOr<std::vector<std::string>> FindProblems(Database& db) {
  std::vector<std::string> problems;
  KB_RETURN_IF_ERROR(CollectPragma(db, "PRAGMA integrity_check(20)", problems));
  if (!problems.empty()) return problems;  // what it holds means little then
  KB_ASSIGN_OR_RETURN(const std::int64_t orphans,
                      db.QueryInt("SELECT count(*) FROM pragma_foreign_key_check"));
  if (orphans > 0) problems.push_back(std::to_string(orphans) + " rows refer to rows not there");
  for (const Invariant& invariant : kInvariants) {
    KB_RETURN_IF_ERROR(CollectInvariant(db, invariant, problems));
  }
  KB_RETURN_IF_ERROR(CollectMissingCases(db, problems));
  return problems;
}

absl::Status QuickCheck(Database& db) {
  KB_ASSIGN_OR_RETURN(const std::int64_t pages, db.QueryInt("PRAGMA page_count"));
  if (pages > kSmallFilePages) return absl::OkStatus();
  std::vector<std::string> problems;
  KB_RETURN_IF_ERROR(CollectPragma(db, "PRAGMA quick_check(1)", problems));
  if (problems.empty()) return absl::OkStatus();
  return MakeError(absl::StatusCode::kDataLoss,
                   db.path() + " is damaged (" + problems.front() +
                       "); restore a backup (kbench-server restore), move it away, or give "
                       "another --data-dir",
                   {.reason = "STORE_DAMAGED"});
}

}  // namespace kbench::store
