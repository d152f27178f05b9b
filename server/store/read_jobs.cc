#include "server/store/read_jobs.h"

#include <algorithm>
#include <cmath>

#include "proto/support/clock.h"
#include "proto/support/error.h"
#include "server/store/page_token.h"
#include "server/store/read_results.h"
#include "server/store/spec_pool.h"

namespace kbench::store {
namespace {

using kbench::v1::CaseStatus;
using kbench::v1::Job;
using kbench::v1::JobEvent;
using scheduler::State;

constexpr int kMostJobs = 1000;
constexpr std::size_t kMostPageBytes = 8u << 20;

google::protobuf::Timestamp Time(double seconds) {
  return ToTimestamp(std::llround(seconds * 1e6));
}

bool ParseBlob(std::string_view bytes, google::protobuf::MessageLite* message) {
  return message->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

absl::Status Damaged(const std::string& what) {
  return MakeError(
      absl::StatusCode::kDataLoss,
      "the store holds an unreadable " + what + "; see kbench-server check, and restore a backup",
      {.reason = "STORE_DAMAGED"});
}

#define KB_JOB_COLUMNS                                                                \
  "id, name, owner, spec, created_at, state, reason, message, started_at, ended_at, " \
  "last_sequence, (SELECT count(*) FROM cases WHERE cases.job = jobs.id AND cases.state > 1)"

absl::Status FillJob(const Statement& row, Job& job) {
  const auto state = static_cast<State>(row.Int(5));
  job.set_name(row.Text(1));
  job.set_owner(row.Text(2));
  if (!ParseBlob(row.Blob(3), job.mutable_spec())) return Damaged("job " + job.name());
  *job.mutable_create_time() = Time(row.Double(4));
  job.set_state(ToJobState(state));
  job.set_reason(row.Text(6));
  job.set_message(row.Text(7));
  if (row.Double(8) > 0) *job.mutable_start_time() = Time(row.Double(8));
  if (row.Double(9) > 0) *job.mutable_end_time() = Time(row.Double(9));
  job.set_last_sequence(row.Int(10));
  job.set_cases_done(static_cast<int>(row.Int(11)));
  return absl::OkStatus();
}

absl::Status FillCases(Database& db, std::int64_t job_row, bool with_results, Job& job) {
  KB_ASSIGN_OR_RETURN(
      Statement rows,
      db.Prepare("SELECT case_index, state, reason, message, attempts, device, worker, started_at, "
                 "ended_at, results_of FROM cases WHERE job = ? ORDER BY case_index"));
  rows.Bind(job_row);
  for (;;) {
    KB_ASSIGN_OR_RETURN(const bool more, rows.Step());
    if (!more) return absl::OkStatus();
    const auto state = static_cast<State>(rows.Int(1));
    const int index = static_cast<int>(rows.Int(0));
    CaseStatus& item = *job.add_cases();
    item.set_index(index);
    if (index < job.spec().cases_size()) *item.mutable_spec() = job.spec().cases(index);
    item.set_state(ToJobState(state));
    item.set_reason(rows.Text(2));
    item.set_message(rows.Text(3));
    item.set_attempt(static_cast<int>(rows.Int(4)));
    item.set_device(rows.Text(5));
    item.set_worker(rows.Text(6));
    if (rows.Double(7) > 0) *item.mutable_start_time() = Time(rows.Double(7));
    if (rows.Double(8) > 0) *item.mutable_end_time() = Time(rows.Double(8));
    item.set_results_of(rows.Text(9));
    if (with_results && scheduler::IsFinal(state)) {
      KB_RETURN_IF_ERROR(ReadCaseResults(db, job_row, index, item));
    }
  }
}

// A text for each filter, so that each goes along an index and reads the page's rows alone.
const char* ListingOf(const JobFilter& filter) {
  const bool by_state = filter.state != kbench::v1::JOB_STATE_UNSPECIFIED;
  if (by_state && !filter.owner.empty()) {
    return "SELECT " KB_JOB_COLUMNS
           " FROM jobs WHERE id < ? AND state = ? AND owner = ? ORDER BY id DESC";
  }
  if (by_state) {
    return "SELECT " KB_JOB_COLUMNS " FROM jobs WHERE id < ? AND state = ? ORDER BY id DESC";
  }
  if (!filter.owner.empty()) {
    return "SELECT " KB_JOB_COLUMNS " FROM jobs WHERE id < ? AND owner = ? ORDER BY id DESC";
  }
  return "SELECT " KB_JOB_COLUMNS " FROM jobs WHERE id < ? ORDER BY id DESC";
}

absl::Status FillExitCode(Database& db, std::int64_t job_row, Job& job) {
  if (!job.spec().has_hold() || job.cases().empty()) return absl::OkStatus();
  KB_ASSIGN_OR_RETURN(Statement row, db.Prepare("SELECT exit_code FROM hold_ends WHERE job = ?"));
  KB_ASSIGN_OR_RETURN(const bool found, row.Bind(job_row).Step());
  if (found) job.mutable_cases(0)->set_exit_code(static_cast<int>(row.Int(0)));
  return absl::OkStatus();
}

absl::StatusOr<std::int64_t> FindJobRow(Database& db, const std::string& name, Job& job) {
  KB_ASSIGN_OR_RETURN(Statement row,
                      db.Prepare("SELECT " KB_JOB_COLUMNS " FROM jobs WHERE name = ?"));
  KB_ASSIGN_OR_RETURN(const bool found, row.Bind(name).Step());
  if (!found) {
    return MakeError(absl::StatusCode::kNotFound, "there is no job " + name,
                     {.reason = "JOB_NOT_FOUND", .metadata = {{"job", name}}});
  }
  KB_RETURN_IF_ERROR(FillJob(row, job));
  return row.Int(0);
}

// Puts back what the event's row left out.
absl::Status Complete(Database& db, std::int64_t job_row, const Job& job, JobEvent& event) {
  if (event.has_final()) {
    KB_ASSIGN_OR_RETURN(*event.mutable_final(), ReadJob(db, job.name(), true));
    return absl::OkStatus();
  }
  if (!event.has_case_changed()) return absl::OkStatus();
  CaseStatus& item = *event.mutable_case_changed();
  if (item.index() < job.spec().cases_size()) *item.mutable_spec() = job.spec().cases(item.index());
  if (item.state() == kbench::v1::JOB_STATE_QUEUED ||
      item.state() == kbench::v1::JOB_STATE_RUNNING) {
    return absl::OkStatus();
  }
  return ReadCaseResults(db, job_row, item.index(), item);
}

// The columns of the cases from `first` on.
scheduler::Case RestoreCase(const Statement& rows, const std::string& job, int first) {
  scheduler::Case item;
  item.ref = {job, static_cast<int>(rows.Int(first))};
  item.state = static_cast<State>(rows.Int(first + 1));
  item.attempts = static_cast<int>(rows.Int(first + 2));
  item.infra_failures = static_cast<int>(rows.Int(first + 3));
  item.worker_deaths = static_cast<int>(rows.Int(first + 4));
  item.open_epoch = rows.Int(first + 5);
  item.device = rows.Text(first + 6);
  item.worker = rows.Text(first + 7);
  item.reason = rows.Text(first + 8);
  item.message = rows.Text(first + 9);
  item.started_at = rows.Double(first + 10);
  item.ended_at = rows.Double(first + 11);
  item.results_of = rows.Text(first + 16);
  item.results_case = static_cast<int>(rows.Int(first + 17));
  if (rows.IsNull(first + 12)) return item;
  item.lease.emplace();
  item.lease->worker_id = rows.Text(first + 12);
  item.lease->boot_id = rows.Text(first + 13);
  item.lease->attempt = static_cast<int>(rows.Int(first + 14));
  item.lease->epoch = rows.Int(first + 15);
  return item;
}

void RestoreHead(const Statement& rows, scheduler::JobEntry& job) {
  job.name = rows.Text(1);
  job.priority = static_cast<int>(rows.Int(2));
  job.order = rows.Int(3);
  job.device = rows.Text(4);
  job.queue_deadline = rows.Double(5);
  job.state = static_cast<State>(rows.Int(6));
  job.reason = rows.Text(7);
  job.message = rows.Text(8);
  job.cancel_requested = rows.Int(9) != 0;
  job.started_at = rows.Double(10);
  job.ended_at = rows.Double(11);
  job.owner = rows.Text(12);
  job.submitted_at = rows.Double(13);
}

// A job whose cases are not all there cannot be run, and must not be forgotten either.
absl::Status CheckCases(const scheduler::JobEntry& job, const kbench::v1::JobSpec& spec) {
  const auto cases = static_cast<std::size_t>(std::max(1, spec.cases_size()));
  bool whole = job.cases.size() == cases;
  for (std::size_t i = 0; whole && i < cases; ++i) {
    whole = job.cases[i].ref.index == static_cast<int>(i);
  }
  return whole ? absl::OkStatus() : Damaged("job " + job.name + ": some of its cases are missing");
}

absl::StatusOr<std::vector<scheduler::OwnerUsage>> ReadUsages(Database& db) {
  KB_ASSIGN_OR_RETURN(Statement rows, db.Prepare("SELECT owner, seconds, as_of FROM owner_usage"));
  std::vector<scheduler::OwnerUsage> usages;
  for (;;) {
    KB_ASSIGN_OR_RETURN(const bool more, rows.Step());
    if (!more) return usages;
    usages.push_back({rows.Text(0), rows.Double(1), rows.Double(2)});
  }
}

}  // namespace

absl::StatusOr<std::optional<Request>> ReadRequest(Database& db, const std::string& request_id) {
  KB_ASSIGN_OR_RETURN(Statement row,
                      db.Prepare("SELECT name, request_digest FROM jobs WHERE request_id = ?"));
  KB_ASSIGN_OR_RETURN(const bool found, row.Bind(request_id).Step());
  if (!found) return std::optional<Request>();
  return std::optional<Request>({row.Text(0), row.Text(1)});
}

absl::StatusOr<Job> ReadJob(Database& db, const std::string& name, bool with_results) {
  Job job;
  KB_ASSIGN_OR_RETURN(const std::int64_t row, FindJobRow(db, name, job));
  KB_RETURN_IF_ERROR(FillCases(db, row, with_results, job));
  KB_RETURN_IF_ERROR(FillExitCode(db, row, job));
  return job;
}

absl::StatusOr<JobPage> ReadJobs(Database& db, const JobFilter& filter) {
  const std::string key = std::to_string(filter.state) + "/" + filter.owner;
  KB_ASSIGN_OR_RETURN(const std::int64_t before, ReadPageToken(filter.page_token, key));
  KB_ASSIGN_OR_RETURN(Statement rows, db.Prepare(ListingOf(filter)));
  rows.Bind(before);
  if (filter.state != kbench::v1::JOB_STATE_UNSPECIFIED) {
    rows.Bind(static_cast<int>(filter.state) - 1);
  }
  if (!filter.owner.empty()) rows.Bind(filter.owner);
  const auto size = static_cast<std::size_t>(std::clamp(filter.page_size, 1, kMostJobs));
  JobPage page;
  std::size_t bytes = 0;
  std::int64_t last = 0;
  for (;;) {
    KB_ASSIGN_OR_RETURN(const bool more, rows.Step());
    if (!more) return page;
    if (page.jobs.size() == size || bytes > kMostPageBytes) {
      page.next_page_token = MakePageToken(last, key);
      return page;
    }
    KB_RETURN_IF_ERROR(FillJob(rows, page.jobs.emplace_back()));
    bytes += page.jobs.back().ByteSizeLong();
    last = rows.Int(0);
  }
}

absl::StatusOr<std::vector<JobEvent>> ReadJobEvents(Database& db, const std::string& job,
                                                    std::int64_t after, int most) {
  Job head;
  KB_ASSIGN_OR_RETURN(const std::int64_t job_row, FindJobRow(db, job, head));
  std::vector<JobEvent> events;
  {
    KB_ASSIGN_OR_RETURN(Statement rows,
                        db.Prepare("SELECT payload FROM events WHERE job = ? AND sequence > ? "
                                   "ORDER BY sequence LIMIT ?"));
    rows.Bind(job_row).Bind(after).Bind(most);
    for (;;) {
      KB_ASSIGN_OR_RETURN(const bool more, rows.Step());
      if (!more) break;
      if (!ParseBlob(rows.Blob(0), &events.emplace_back())) return Damaged("event of " + job);
    }
  }
  for (JobEvent& event : events) KB_RETURN_IF_ERROR(Complete(db, job_row, head, event));
  return events;
}

absl::StatusOr<std::vector<Deaths>> ReadDeaths(Database& db, double since) {
  KB_ASSIGN_OR_RETURN(
      Statement rows,
      db.Prepare("SELECT jobs.name, jobs.spec, cases.case_index, cases.worker_deaths, "
                 "cases.reason = 'POISON', iif(cases.ended_at > 0, cases.ended_at, "
                 "cases.started_at) AS at FROM cases JOIN jobs ON jobs.id = cases.job "
                 "WHERE cases.worker_deaths > 0 AND (cases.ended_at = 0 OR cases.ended_at >= ?) "
                 "ORDER BY at"));
  rows.Bind(since);
  std::vector<Deaths> deaths;
  for (;;) {
    KB_ASSIGN_OR_RETURN(const bool more, rows.Step());
    if (!more) return deaths;
    Deaths& item = deaths.emplace_back();
    item.ref = {rows.Text(0), static_cast<int>(rows.Int(2))};
    if (!ParseBlob(rows.Blob(1), &item.spec)) return Damaged("job " + item.ref.job);
    item.deaths = static_cast<int>(rows.Int(3));
    item.poison = rows.Int(4) != 0;
    item.at = rows.Double(5);
  }
}

absl::StatusOr<Restored> ReadForRestore(Database& db) {
  Restored restored;
  KB_ASSIGN_OR_RETURN(restored.usages, ReadUsages(db));
  KB_ASSIGN_OR_RETURN(restored.next_epoch,
                      db.QueryInt("SELECT value FROM counters WHERE name = 'next_epoch'"));
  KB_ASSIGN_OR_RETURN(restored.next_order,
                      db.QueryInt("SELECT coalesce(max(line_order), 0) + 1 FROM jobs"));
  // One pass over jobs and cases: a query a job takes many times as long.
  KB_ASSIGN_OR_RETURN(
      Statement rows,
      db.Prepare("SELECT j.id, j.name, j.priority, j.line_order, j.device, j.queue_deadline, "
                 "j.state, j.reason, j.message, j.cancel_requested, j.started_at, j.ended_at, "
                 "j.owner, j.created_at, j.spec, c.case_index, c.state, c.attempts, "
                 "c.infra_failures, c.worker_deaths, c.open_epoch, c.device, c.worker, c.reason, "
                 "c.message, c.started_at, c.ended_at, c.lease_worker, c.lease_boot, "
                 "c.lease_attempt, c.lease_epoch, c.results_of, c.results_case FROM jobs j LEFT "
                 "JOIN cases c ON c.job = j.id "
                 "WHERE j.state <= 1 ORDER BY j.id, c.case_index"));
  constexpr int kSpec = 14;
  SpecPool pool;
  std::int64_t last = 0;
  for (;;) {
    KB_ASSIGN_OR_RETURN(const bool more, rows.Step());
    if (!more || rows.Int(0) != last) {
      if (last != 0) {
        KB_RETURN_IF_ERROR(CheckCases(restored.jobs.back(), *restored.specs.back()));
      }
      if (!more) return restored;
      last = rows.Int(0);
      RestoreHead(rows, restored.jobs.emplace_back());
      restored.specs.push_back(pool.Get(rows.Blob(kSpec)));
      if (restored.specs.back() == nullptr) return Damaged("job " + restored.jobs.back().name);
    }
    scheduler::JobEntry& job = restored.jobs.back();
    if (!rows.IsNull(kSpec + 1)) job.cases.push_back(RestoreCase(rows, job.name, kSpec + 1));
  }
}

}  // namespace kbench::store
