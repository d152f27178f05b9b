// The store: jobs, cases, events, results and artifacts, durable before any call returns (or its
// callback runs). Interface with one back end today (sqlite); postgres comes beside it.
// Thread-safe. Writes that are enqueued together share one commit (group commit), in the order they
// were enqueued.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kbench/v1/job.pb.h"
#include "kbench/v1/result.pb.h"
#include "server/scheduler/scheduler.h"

namespace kbench::store {

struct NewJob {
  kbench::v1::Job job;  // with name, spec, owner, create_time, cases
  std::string request_id;
  std::string request_digest;  // of the body: tells a retry from a reuse
  scheduler::JobEntry entry;
};

// One event of a job, to be numbered by the store.
struct NewEvent {
  std::string job;
  kbench::v1::JobEvent event;
};

// Everything one step of the coordinator changes, in one transaction.
struct Batch {
  std::vector<NewJob> new_jobs;
  std::vector<scheduler::CaseTransition> cases;
  std::vector<scheduler::JobTransition> jobs;
  // Documents of jobs that changed: what GetJob returns (states, times, reasons); results are kept
  // apart.
  std::vector<kbench::v1::Job> documents;
  std::vector<NewEvent> events;
  std::vector<kbench::v1::Result> results;
  std::vector<kbench::v1::Artifact> artifacts;  // with full names
};

// Called on the writer's thread once the batch is durable (or has failed: then nothing of it is),
// with the events as numbered.
using Committed =
    std::function<void(const absl::Status&, const std::vector<kbench::v1::JobEvent>&)>;

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

struct Restored {
  std::vector<scheduler::JobEntry> jobs;  // not ended
  std::int64_t next_epoch = 1;
  std::int64_t next_order = 1;
};

class Store {
 public:
  virtual ~Store() = default;

  virtual void Commit(Batch batch, Committed done) = 0;

  // The job that a request id made, with the digest of its body.
  virtual absl::StatusOr<std::optional<std::pair<std::string, std::string>>> FindRequest(
      const std::string& request_id) = 0;
  // NOT_FOUND names the job. `with_results` fills the cases' results.
  virtual absl::StatusOr<kbench::v1::Job> GetJob(const std::string& name, bool with_results) = 0;
  virtual absl::StatusOr<std::pair<std::vector<kbench::v1::Job>, std::string>> ListJobs(
      const JobFilter& filter) = 0;
  virtual absl::StatusOr<std::vector<kbench::v1::JobEvent>> ReadEvents(const std::string& job,
                                                                       std::int64_t after_sequence,
                                                                       int most) = 0;
  virtual absl::StatusOr<kbench::v1::Result> GetResult(const std::string& name) = 0;
  virtual absl::StatusOr<std::pair<std::vector<kbench::v1::Result>, std::string>> ListResults(
      const ResultFilter& filter) = 0;
  // The latest result of every (kernel, implementation, dtype, shape, mode, device), for the
  // metrics after a restart; at most `most`.
  virtual absl::StatusOr<std::vector<kbench::v1::Result>> LatestResults(int most) = 0;
  virtual absl::StatusOr<std::vector<kbench::v1::Artifact>> ListArtifacts(
      const std::string& job) = 0;
  virtual absl::StatusOr<kbench::v1::Artifact> GetArtifact(const std::string& name) = 0;
  virtual absl::StatusOr<Restored> Restore() = 0;
};

}  // namespace kbench::store
