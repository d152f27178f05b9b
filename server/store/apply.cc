#include "server/store/apply.h"

#include <charconv>
#include <string>

#include "proto/support/clock.h"
#include "proto/support/error.h"
#include "server/store/devices.h"
#include "server/store/records.h"
#include "server/store/retention.h"

namespace kbench::store {
namespace {

using kbench::v1::JobEvent;

absl::Status UnknownJob(const std::string& name) {
  return MakeError(absl::StatusCode::kNotFound, "there is no job " + name,
                   {.reason = "JOB_NOT_FOUND"});
}

absl::StatusOr<std::int64_t> JobRow(Database& db, const std::string& name) {
  KB_ASSIGN_OR_RETURN(Statement find, db.Prepare("SELECT id FROM jobs WHERE name = ?"));
  KB_ASSIGN_OR_RETURN(const bool row, find.Bind(name).Step());
  if (!row) return UnknownJob(name);
  return find.Int(0);
}

absl::Status InsertJob(Database& db, const NewJob& job) {
  KB_ASSIGN_OR_RETURN(
      Statement insert,
      db.Prepare("INSERT INTO jobs (name, owner, request_id, request_digest, spec, created_at, "
                 "priority, line_order, device, queue_deadline) "
                 "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
  const std::string spec = job.job.spec().SerializeAsString();
  insert.Bind(job.job.name()).Bind(job.job.owner());
  if (job.request_id.empty()) {
    insert.BindNull();
  } else {
    insert.Bind(job.request_id);
  }
  insert.Bind(job.request_digest)
      .BindBlob(spec)
      .Bind(static_cast<double>(ToMicros(job.job.create_time())) * 1e-6)
      .Bind(job.entry.priority)
      .Bind(job.entry.order)
      .Bind(job.entry.device)
      .Bind(job.entry.queue_deadline);
  KB_RETURN_IF_ERROR(insert.Run());
  const std::int64_t id = db.LastInsertId();
  KB_ASSIGN_OR_RETURN(Statement add,
                      db.Prepare("INSERT INTO cases (job, case_index) VALUES (?, ?)"));
  for (int index = 0; index < job.job.spec().cases_size(); ++index) {
    KB_RETURN_IF_ERROR(add.Bind(id).Bind(index).Run());
  }
  return absl::OkStatus();
}

absl::Status RaiseEpoch(Database& db, std::int64_t next) {
  KB_ASSIGN_OR_RETURN(
      Statement epoch,
      db.Prepare("UPDATE counters SET value = max(value, ?) WHERE name = 'next_epoch'"));
  return epoch.Bind(next).Run();
}

absl::Status UpdateCase(Database& db, const scheduler::Case& item) {
  KB_ASSIGN_OR_RETURN(
      Statement update,
      db.Prepare("UPDATE cases SET state = ?, attempts = ?, infra_failures = ?, worker_deaths = ?, "
                 "open_epoch = ?, device = ?, worker = ?, reason = ?, message = ?, started_at = ?, "
                 "ended_at = ?, lease_worker = ?, lease_boot = ?, lease_attempt = ?, "
                 "lease_epoch = ?, results_of = ?, results_case = ? WHERE job = (SELECT id FROM "
                 "jobs WHERE name = ?) "
                 "AND case_index = ?"));
  update.Bind(static_cast<int>(item.state))
      .Bind(item.attempts)
      .Bind(item.infra_failures)
      .Bind(item.worker_deaths)
      .Bind(item.open_epoch)
      .Bind(item.device)
      .Bind(item.worker)
      .Bind(item.reason)
      .Bind(item.message)
      .Bind(item.started_at)
      .Bind(item.ended_at);
  if (item.lease) {
    update.Bind(item.lease->worker_id)
        .Bind(item.lease->boot_id)
        .Bind(item.lease->attempt)
        .Bind(item.lease->epoch);
  } else {
    update.BindNull().BindNull().BindNull().BindNull();
  }
  update.Bind(item.results_of).Bind(item.results_case);
  KB_RETURN_IF_ERROR(update.Bind(item.ref.job).Bind(item.ref.index).Run());
  if (db.Changes() == 0) return UnknownJob(item.ref.job);
  return item.lease ? RaiseEpoch(db, item.lease->epoch + 1) : absl::OkStatus();
}

absl::Status UpdateJob(Database& db, const scheduler::JobTransition& job) {
  KB_ASSIGN_OR_RETURN(
      Statement update,
      db.Prepare("UPDATE jobs SET state = ?, reason = ?, message = ?, cancel_requested = ?, "
                 "started_at = ?, ended_at = ? WHERE name = ?"));
  KB_RETURN_IF_ERROR(update.Bind(static_cast<int>(job.state))
                         .Bind(job.reason)
                         .Bind(job.message)
                         .Bind(job.cancel_requested)
                         .Bind(job.started_at)
                         .Bind(job.ended_at)
                         .Bind(job.job)
                         .Run());
  return db.Changes() == 0 ? UnknownJob(job.job) : absl::OkStatus();
}

absl::Status UpdateUsage(Database& db, const scheduler::OwnerUsage& usage) {
  if (usage.seconds <= 0) {
    KB_ASSIGN_OR_RETURN(Statement forget, db.Prepare("DELETE FROM owner_usage WHERE owner = ?"));
    return forget.Bind(usage.owner).Run();
  }
  KB_ASSIGN_OR_RETURN(Statement write,
                      db.Prepare("INSERT OR REPLACE INTO owner_usage (owner, seconds, as_of) "
                                 "VALUES (?, ?, ?)"));
  return write.Bind(usage.owner).Bind(usage.seconds).Bind(usage.as_of).Run();
}

absl::Status InsertResult(Database& db, const kbench::v1::Result& result) {
  KB_ASSIGN_OR_RETURN(const std::int64_t job, JobRow(db, result.job()));
  KB_ASSIGN_OR_RETURN(
      Statement insert,
      db.Prepare("INSERT INTO results (name, job, case_index, kernel, implementation, dtype, "
                 "shape, mode, device, is_default, payload) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
                 "?)"));
  const std::string payload = result.SerializeAsString();
  const std::string mode = result.case_().mode().empty() ? "cold" : result.case_().mode();
  return insert.Bind(result.name())
      .Bind(job)
      .Bind(result.case_index())
      .Bind(result.case_().kernel())
      .Bind(result.implementation())
      .Bind(result.case_().dtype())
      .Bind(result.case_().shape())
      .Bind(mode)
      .Bind(result.device())
      .Bind(IsDefaultResult(result))
      .BindBlob(payload)
      .Run();
}

// The first word stands: a client that asks twice changes nothing.
absl::Status InsertHoldEnd(Database& db, const HoldEnd& end) {
  KB_ASSIGN_OR_RETURN(const std::int64_t job, JobRow(db, end.job));
  KB_ASSIGN_OR_RETURN(Statement insert,
                      db.Prepare("INSERT OR IGNORE INTO hold_ends (job, exit_code) VALUES (?, ?)"));
  return insert.Bind(job).Bind(end.exit_code).Run();
}

bool IsCode(const kbench::v1::Artifact& artifact) {
  const std::string& type = artifact.media_type();
  return type == "text/x-ptx" || type == "text/x-sass" || type == "application/x-cubin";
}

// The row that holds these bytes, made where there is none. By comparison, not by a digest: of one
// size there are few.
absl::StatusOr<std::int64_t> ContentRow(Database& db, const std::string& content) {
  const auto size = static_cast<std::int64_t>(content.size());
  {
    KB_ASSIGN_OR_RETURN(Statement find,
                        db.Prepare("SELECT id FROM contents WHERE size_bytes = ? AND content = ?"));
    KB_ASSIGN_OR_RETURN(const bool found, find.Bind(size).BindBlob(content).Step());
    if (found) return find.Int(0);
  }
  KB_ASSIGN_OR_RETURN(Statement insert,
                      db.Prepare("INSERT INTO contents (size_bytes, content) VALUES (?, ?)"));
  KB_RETURN_IF_ERROR(insert.Bind(size).BindBlob(content).Run());
  return db.LastInsertId();
}

// What is kept how long goes by the names that workers give.
Kind KindOf(const std::string& file) {
  if (file.rfind("samples-", 0) == 0) return Kind::kSamples;
  const bool log = file.rfind("log-", 0) == 0 || file.rfind("attempt", 0) == 0;
  return log ? Kind::kLogs : Kind::kArtifacts;
}

// artifacts/<job id>-<case>-<file>
absl::Status InsertArtifact(Database& db, const kbench::v1::Artifact& artifact) {
  const std::string& name = artifact.name();
  const std::size_t slash = name.find('/');
  const std::size_t dash = name.find('-', slash);
  if (slash == std::string::npos || dash == std::string::npos) {
    return absl::InvalidArgumentError("not an artifact's name: " + name);
  }
  KB_ASSIGN_OR_RETURN(const std::int64_t job,
                      JobRow(db, "jobs/" + name.substr(slash + 1, dash - slash - 1)));
  int case_index = -1;
  const char* const start = name.data() + dash + 1;
  const auto read = std::from_chars(start, name.data() + name.size(), case_index);
  const std::string file = *read.ptr == '-' ? read.ptr + 1 : "";
  std::int64_t shared = 0;
  if (IsCode(artifact)) {
    KB_ASSIGN_OR_RETURN(shared, ContentRow(db, artifact.content()));
  }
  KB_ASSIGN_OR_RETURN(Statement insert,
                      db.Prepare("INSERT INTO artifacts (name, job, media_type, size_bytes, "
                                 "content, shared, kind, case_index) "
                                 "VALUES (?, ?, ?, ?, ?, ?, ?, ?)"));
  const std::string nothing;
  insert.Bind(name)
      .Bind(job)
      .Bind(artifact.media_type())
      .Bind(static_cast<std::int64_t>(artifact.content().size()))
      .BindBlob(shared == 0 ? artifact.content() : nothing);
  if (shared == 0) {
    insert.BindNull();
  } else {
    insert.Bind(shared);
  }
  return insert.Bind(static_cast<int>(KindOf(file))).Bind(case_index).Run();
}

// What the tables of cases and results hold already is left out.
std::string SlimPayload(const NewEvent& event, std::int64_t sequence) {
  JobEvent slim;
  slim.set_sequence(sequence);
  *slim.mutable_time() = event.event.time();
  if (event.event.has_case_changed()) {
    kbench::v1::CaseStatus* status = slim.mutable_case_changed();
    const kbench::v1::CaseStatus& full = event.event.case_changed();
    status->set_index(full.index());
    status->set_state(full.state());
    status->set_reason(full.reason());
    status->set_message(full.message());
    status->set_attempt(full.attempt());
    status->set_device(full.device());
    status->set_worker(full.worker());
    status->set_results_of(full.results_of());
    if (full.has_start_time()) *status->mutable_start_time() = full.start_time();
    if (full.has_end_time()) *status->mutable_end_time() = full.end_time();
  } else if (event.event.has_final()) {
    slim.mutable_final();
  } else {
    slim = event.event;
    slim.set_sequence(sequence);
  }
  return slim.SerializeAsString();
}

absl::StatusOr<std::int64_t> InsertEvent(Database& db, const NewEvent& event) {
  KB_ASSIGN_OR_RETURN(const std::int64_t job, JobRow(db, event.job));
  KB_ASSIGN_OR_RETURN(Statement next,
                      db.Prepare("UPDATE jobs SET last_sequence = last_sequence + 1 WHERE id = ?"));
  KB_RETURN_IF_ERROR(next.Bind(job).Run());
  KB_ASSIGN_OR_RETURN(Statement read, db.Prepare("SELECT last_sequence FROM jobs WHERE id = ?"));
  KB_RETURN_IF_ERROR(read.Bind(job).Step().status());
  const std::int64_t sequence = read.Int(0);
  const std::string payload = SlimPayload(event, sequence);
  KB_ASSIGN_OR_RETURN(Statement insert,
                      db.Prepare("INSERT INTO events (job, sequence, payload) VALUES (?, ?, ?)"));
  KB_RETURN_IF_ERROR(insert.Bind(job).Bind(sequence).BindBlob(payload).Run());
  return sequence;
}

}  // namespace

absl::Status Apply(Database& db, const Batch& batch, std::vector<std::int64_t>& sequences) {
  if (batch.next_epoch > 0) KB_RETURN_IF_ERROR(RaiseEpoch(db, batch.next_epoch));
  for (const NewJob& job : batch.new_jobs) KB_RETURN_IF_ERROR(InsertJob(db, job));
  for (const auto& item : batch.cases) KB_RETURN_IF_ERROR(UpdateCase(db, item.state));
  for (const auto& job : batch.jobs) KB_RETURN_IF_ERROR(UpdateJob(db, job));
  for (const auto& usage : batch.usages) KB_RETURN_IF_ERROR(UpdateUsage(db, usage));
  for (const auto& result : batch.results) KB_RETURN_IF_ERROR(InsertResult(db, result));
  for (const auto& artifact : batch.artifacts) KB_RETURN_IF_ERROR(InsertArtifact(db, artifact));
  for (const HoldEnd& end : batch.hold_ends) KB_RETURN_IF_ERROR(InsertHoldEnd(db, end));
  for (const NewEvent& event : batch.events) {
    KB_ASSIGN_OR_RETURN(const std::int64_t sequence, InsertEvent(db, event));
    sequences.push_back(sequence);
  }
  KB_RETURN_IF_ERROR(ApplyDevices(db, batch.devices));
  return ApplyRecords(db, batch.records);
}

}  // namespace kbench::store
