// The store: jobs, cases, events, results and artifacts, durable before a callback of Commit runs.
// Interface with one back end today (sqlite.h); postgres comes beside it and must pass the same
// tests (tests/server/store/conformance.h).
// Thread-safe. Writes that are enqueued together share one commit (group commit), in the order they
// were enqueued; each batch is all or nothing, and one that fails takes no other with it.
//
// Times are seconds since the epoch on the coordinator's clock; the scheduler's `now` is the same.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kbench/v1/job.pb.h"
#include "kbench/v1/result.pb.h"
#include "server/scheduler/types.h"
#include "server/store/device_records.h"
#include "server/store/records.h"
#include "server/store/upkeep.h"

namespace kbench::store {

struct NewJob {
  kbench::v1::Job job;         // name, spec (with canonical shapes), owner, create_time
  std::string request_id;      // empty: none
  std::string request_digest;  // of the body: tells a retry from a reuse
  scheduler::JobEntry entry;   // its `order` counts up from Restored::next_order
};

// One event of a job, to be numbered by the store. The results of a case and the content of `final`
// are not stored twice: ReadEvents puts them back.
struct NewEvent {
  std::string job;
  kbench::v1::JobEvent event;
};

// How the command of a hold ended.
struct HoldEnd {
  std::string job;
  int exit_code = 0;
};

// Everything one step of the coordinator changes, in one transaction. Applied in this order.
struct Batch {
  std::vector<NewJob> new_jobs;
  std::vector<scheduler::CaseTransition> cases;
  std::vector<scheduler::JobTransition> jobs;
  std::vector<scheduler::OwnerUsage> usages;
  std::vector<kbench::v1::Result> results;      // with name, job and create_time
  std::vector<kbench::v1::Artifact> artifacts;  // with full names: artifacts/<job id>-<case>-<file>
  std::vector<HoldEnd> hold_ends;
  std::vector<NewEvent> events;
  DeviceChanges devices;
  std::vector<Record> records;
  std::int64_t next_epoch = 0;  // raises the counter to at least this
};

// Called on the writer's thread once the batch is durable (or has failed: then nothing of it is),
// with the sequence numbers of its events in their order. Must not block on the store.
using Committed = std::function<void(const absl::Status&, const std::vector<std::int64_t>&)>;

struct JobFilter {
  int page_size = 50;
  std::string page_token;
  kbench::v1::JobState state = kbench::v1::JOB_STATE_UNSPECIFIED;
  std::string owner;
};

struct ResultFilter {
  int page_size = 50;
  std::string page_token;
  std::string job, kernel, dtype, shape, implementation, device;
};

struct JobPage {
  std::vector<kbench::v1::Job> jobs;
  std::string next_page_token;
};

struct ResultPage {
  std::vector<kbench::v1::Result> results;
  std::string next_page_token;
};

struct Request {
  std::string job;
  std::string digest;
};

struct Restored {
  std::vector<scheduler::JobEntry> jobs;  // not ended; with owner and submitted_at
  std::vector<scheduler::OwnerUsage> usages;
  // Of each of `jobs`. Those that are the same are kept once.
  std::vector<std::shared_ptr<const kbench::v1::JobSpec>> specs;
  std::int64_t next_epoch = 1;
  std::int64_t next_order = 1;
};

// A case during which workers died.
struct Deaths {
  scheduler::CaseRef ref;
  kbench::v1::JobSpec spec;
  int deaths = 0;
  bool poison = false;  // it ended so
  double at = 0;        // when it ended; until then, when its newest attempt began
};

// A case that ended with results, as the search for something to reuse finds it.
struct Measured {
  scheduler::CaseRef ref;
  std::string device;
  double measured_at = 0;
  std::vector<kbench::v1::Result> results;
};

struct MeasuredFilter {
  std::string kernel, dtype, shape, mode;
  std::string implementation;  // one that must be among the results
  std::string device;
  double since = 0;
  int most = 8;
};

// How long a case held its device, and what it ran there.
struct CaseDuration {
  std::string kernel, dtype, shape, mode, device;
  std::vector<std::string> implementations;
  double seconds = 0;
};

class Store {
 public:
  virtual ~Store() = default;

  // ALREADY_EXISTS when a name or a request id is taken, NOT_FOUND when a job is unknown.
  virtual void Commit(Batch batch, Committed done) = 0;

  // The job that a request id made.
  virtual absl::StatusOr<std::optional<Request>> FindRequest(const std::string& request_id) = 0;
  // One consistent state: cases and last_sequence belong together. NOT_FOUND names the job.
  // queue_position is the coordinator's to fill.
  virtual absl::StatusOr<kbench::v1::Job> GetJob(const std::string& name, bool with_results) = 0;
  // Newest first, without cases; INVALID_ARGUMENT for a page token of another listing.
  virtual absl::StatusOr<JobPage> ListJobs(const JobFilter& filter) = 0;
  virtual absl::StatusOr<std::vector<kbench::v1::JobEvent>> ReadEvents(const std::string& job,
                                                                       std::int64_t after_sequence,
                                                                       int most) = 0;
  virtual absl::StatusOr<kbench::v1::Result> GetResult(const std::string& name) = 0;
  virtual absl::StatusOr<ResultPage> ListResults(const ResultFilter& filter) = 0;
  // For the metrics after a restart: the latest OK result at default flush and precision of every
  // (kernel, implementation, dtype, shape, mode, device), newest first, at most `most`.
  virtual absl::StatusOr<std::vector<kbench::v1::Result>> LatestResults(int most) = 0;
  // Cases measured since then (by the time of their results), newest first; those that took the
  // results of others are not among them.
  virtual absl::StatusOr<std::vector<Measured>> FindMeasured(const MeasuredFilter& filter) = 0;
  virtual absl::StatusOr<std::vector<Deaths>> DeathsSince(double since) = 0;
  // Of the cases that succeeded last, oldest first, as far as their newest `most_results` results
  // reach.
  virtual absl::StatusOr<std::vector<CaseDuration>> RecentDurations(int most_results) = 0;
  // Without their content. NOT_FOUND names the job.
  virtual absl::StatusOr<std::vector<kbench::v1::Artifact>> ListArtifacts(
      const std::string& job) = 0;
  virtual absl::StatusOr<kbench::v1::Artifact> GetArtifact(const std::string& name) = 0;
  virtual absl::StatusOr<Restored> Restore() = 0;
  virtual absl::StatusOr<StoredDevices> ReadDevices() = 0;
  virtual absl::StatusOr<std::vector<Record>> ReadRecords(const std::string& kind) = 0;
  // Lives as long as the store.
  virtual Upkeep& upkeep() = 0;
};

// Whether a result feeds the metrics and history: outcome OK, default flush, default precision.
bool IsDefaultResult(const kbench::v1::Result& result);
// Whether it is of a fixture of the self-test, a family that holds nothing else: hidden everywhere.
bool IsFixture(const kbench::v1::Result& result);

kbench::v1::JobState ToJobState(scheduler::State state);

}  // namespace kbench::store
