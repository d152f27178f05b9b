// The coordinator: owns the scheduler, under one lock, and turns requests and the workers' messages
// into steps. A step runs the scheduler, hands one batch to the store, and only when that is
// durable sends what follows from it (assignments, acknowledgements, events, replies). It holds
// nothing that the store could not give back: when a commit fails it drops everything, and builds
// itself anew from the store as after a restart.
//
// Thread-safe. The lock is held for work in memory only, never for I/O, so that the reactions of
// gRPC streams may call in. Submit, Get, List and Cancel wait for the store: not from reactions.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "kbench/v1/device_service.pb.h"
#include "kbench/v1/job_service.pb.h"
#include "kbench/v1/worker_service.pb.h"
#include "proto/support/clock.h"
#include "proto/support/mutex.h"
#include "server/metrics/metrics.h"
#include "server/rpc/device_registry.h"
#include "server/rpc/executor.h"
#include "server/rpc/links.h"
#include "server/rpc/watch_hub.h"
#include "server/scheduler/scheduler.h"
#include "server/store/spec_pool.h"
#include "server/store/store.h"

namespace kbench::server {

struct CoordinatorOptions {
  scheduler::Options scheduler;
  double heartbeat_seconds = 5;
  double timer_seconds = 0.5;       // how often leases and deadlines are looked at
  double known_again_seconds = 10;  // after a start: unknown devices may yet come back
  int most_queued_cases = 100'000;
};

class Coordinator {
 public:
  // `store`, `metrics` and `clock` outlive it.
  Coordinator(store::Store& store, metrics::Metrics& metrics, Clock& clock,
              CoordinatorOptions options);
  ~Coordinator();

  // Takes up what the store holds and starts the timer.
  absl::Status Start();
  // Refuses new work and ends all streams with UNAVAILABLE; replies under way are still given.
  void Drain();
  // Ends its threads. After the server's shutdown: nothing may call in any more.
  void Stop();

  absl::StatusOr<kbench::v1::Job> Submit(const kbench::v1::SubmitJobRequest& request);
  absl::StatusOr<kbench::v1::Job> Get(const std::string& name);
  absl::StatusOr<kbench::v1::ListJobsResponse> List(const kbench::v1::ListJobsRequest& request);
  absl::StatusOr<kbench::v1::Job> Cancel(const std::string& name);
  // A snapshot, then events, then `final`; the watcher is closed at the end.
  void Watch(const std::string& name, std::shared_ptr<Watcher> watcher);
  void Unwatch(const std::string& name, const Watcher* watcher);

  std::vector<kbench::v1::Device> Devices();
  kbench::v1::ListKernelsResponse Kernels();

  void OnWorkerMessage(const std::shared_ptr<WorkerLink>& link, kbench::v1::WorkerMessage message);
  void OnWorkerGone(const std::shared_ptr<WorkerLink>& link);

 private:
  struct ActiveJob {
    std::shared_ptr<const kbench::v1::JobSpec> spec;
    double created_at = 0;
  };
  struct Session {
    std::string worker_id;
    std::string boot_id;
  };
  // One step on its way through the store.
  struct Step {
    store::Batch batch;
    std::vector<store::NewEvent> events;  // of the batch, for the watchers
    std::vector<std::pair<std::shared_ptr<WorkerLink>, kbench::v1::CoordinatorMessage>> sends;
    std::vector<std::function<void()>> on_durable;  // metrics
    std::function<void(const absl::Status&)> done;  // on the writer's thread, outside the lock
    bool may_fail = false;                          // its failure concerns its caller alone
  };
  struct CaseResults {
    scheduler::CaseRef ref;
    std::vector<kbench::v1::Result> results;
  };

  double Now() const;
  absl::Status CheckServing() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // coordinator_steps.cc
  void AddEffects(scheduler::Effects effects, const CaseResults* results, Step& step)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AddCase(const scheduler::Case& item, const CaseResults* results, Step& step)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AddJobTransition(const scheduler::JobTransition& job, Step& step)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // False when the device has nothing for the case.
  bool AddAssign(const scheduler::AssignTo& assign, Step& step)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Commit(Step step) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CommitEffects(scheduler::Effects effects) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnCommitted(const std::shared_ptr<Step>& step, std::int64_t generation,
                   const absl::Status& status, const std::vector<std::int64_t>& sequences);
  void PublishEvents(std::vector<store::NewEvent> events);
  void OnStoreFailure(const absl::Status& status, std::int64_t generation);
  absl::Status Load();
  void TryRecover();
  void TimerLoop();
  void PublishPositions();

  // coordinator_jobs.cc
  absl::StatusOr<kbench::v1::Job> JobOfRequest(const kbench::v1::SubmitJobRequest& request,
                                               const std::string& digest, bool& found);
  absl::Status StoreJob(const kbench::v1::SubmitJobRequest& request, const std::string& digest,
                        const kbench::v1::Job& job);
  void JobIsDurable(const kbench::v1::Job& job, const scheduler::JobEntry& entry);
  void Decorate(kbench::v1::Job& job);
  void Decorate(const std::vector<kbench::v1::Job*>& jobs);
  void StartWatch(const std::string& name, const std::shared_ptr<Watcher>& watcher);

  // coordinator_workers.cc
  // Links are closed outside the lock: an end may call back in.
  using Closings = std::vector<std::pair<std::shared_ptr<WorkerLink>, absl::Status>>;
  void HandleWorkerMessage(const std::shared_ptr<WorkerLink>& link,
                           kbench::v1::WorkerMessage message, Closings& closings)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnHello(const std::shared_ptr<WorkerLink>& link, const kbench::v1::WorkerHello& hello,
               Closings& closings) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void PublishProgress(kbench::v1::AttemptProgress progress);
  void OnHeartbeat(const Session& session, const kbench::v1::Heartbeat& heartbeat)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnResult(const std::shared_ptr<WorkerLink>& link, const Session& session,
                kbench::v1::AttemptResult result) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CompleteResult(const Session& session, int index, const kbench::v1::AttemptId& id,
                      kbench::v1::Result& result) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::shared_ptr<WorkerLink> LinkOf(const std::string& worker_id)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  metrics::LiveState Live();

  store::Store& store_;
  metrics::Metrics& metrics_;
  Clock& clock_;
  const CoordinatorOptions options_;
  const double wall_offset_;  // Now() = wall time at the start + steady time since
  double started_at_ = 0;
  WatchHub hub_;
  Executor executor_;

  Mutex mutex_;
  CondVar timer_wake_;
  scheduler::Scheduler scheduler_ ABSL_GUARDED_BY(mutex_);
  DeviceRegistry devices_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, ActiveJob> active_ ABSL_GUARDED_BY(mutex_);
  store::SpecPool specs_ ABSL_GUARDED_BY(mutex_);  // of `active_`
  std::map<std::shared_ptr<WorkerLink>, Session> sessions_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, int> positions_ ABSL_GUARDED_BY(mutex_);  // as last published
  std::int64_t next_order_ ABSL_GUARDED_BY(mutex_) = 1;
  std::int64_t generation_ ABSL_GUARDED_BY(mutex_) = 1;  // steps of an older one are void
  bool broken_ ABSL_GUARDED_BY(mutex_) = false;          // a commit failed: waiting for the store
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread timer_;
};

}  // namespace kbench::server
