// The coordinator: owns the scheduler, under one lock, and turns requests and the workers' messages
// into steps. A step runs the scheduler, hands one batch to the store, and only when that is
// durable sends what follows from it (assignments, acknowledgements, events, replies). It holds
// nothing that the store could not give back: when a commit fails it drops everything, and builds
// itself anew from the store as after a restart.
//
// Thread-safe. The lock is held for work in memory only, never for I/O, so that the reactions of
// gRPC streams may call in. Get, List and Cancel wait for the store: not from reactions. Submit
// does not wait: it answers when the job is durable.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
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
#include "server/history/durations.h"
#include "server/metrics/metrics.h"
#include "server/rpc/contests.h"
#include "server/rpc/device_registry.h"
#include "server/rpc/executor.h"
#include "server/rpc/limits.h"
#include "server/rpc/links.h"
#include "server/rpc/maintenance.h"
#include "server/rpc/poison.h"
#include "server/rpc/queue_hub.h"
#include "server/rpc/queue_snapshot.h"
#include "server/rpc/running_progress.h"
#include "server/rpc/sharing.h"
#include "server/rpc/validate_device.h"
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
  LimitOptions limits;
  std::string version;         // of this coordinator, for CheckWorkerVersion; empty: the build's
  double queue_seconds = 0.5;  // between two messages to who watches the queue, at least
  double queue_ping_seconds = 15;  // after which an unchanged one is sent again
  double max_hold_seconds = 2 * 3600;
  double hold_lapse_seconds = 60;  // an attached hold whose client is silent for this long ends
};

class Coordinator {
 public:
  // `store`, `metrics` and `clock` outlive it.
  Coordinator(store::Store& store, metrics::Metrics& metrics, Clock& clock,
              CoordinatorOptions options);
  ~Coordinator();

  // Told of the results of a case when they are durable, with the labels of its job; must be quick.
  // Empty: nobody is.
  using ResultObserver = std::function<void(const std::vector<kbench::v1::Result>& results,
                                            const std::map<std::string, std::string>& labels)>;
  void SetResultObserver(ResultObserver observer);
  // Takes up what the store holds and starts the timer.
  absl::Status Start();
  // Refuses new work and ends all streams with UNAVAILABLE; replies under way are still given.
  void Drain();
  // Ends its threads. After the server's shutdown: nothing may call in any more.
  void Stop();

  // `done` is called once, within this call or on another thread, without the lock; it must neither
  // block nor call in. A job it gets is durable (or was only to be validated).
  using Submitted = std::function<void(absl::StatusOr<kbench::v1::Job>)>;
  void Submit(kbench::v1::SubmitJobRequest request, Submitted done);
  // For the coordinator's own threads: waits for the store.
  absl::StatusOr<kbench::v1::Job> SubmitAndWait(kbench::v1::SubmitJobRequest request);
  absl::StatusOr<kbench::v1::Job> Get(const std::string& name);
  absl::StatusOr<kbench::v1::ListJobsResponse> List(const kbench::v1::ListJobsRequest& request);
  absl::StatusOr<kbench::v1::Job> Cancel(const std::string& name);
  absl::StatusOr<kbench::v1::KeepHoldResponse> KeepHold(const std::string& name);
  absl::StatusOr<kbench::v1::Job> EndHold(const std::string& name, int exit_code);
  // A snapshot, then events, then `final`; the watcher is closed at the end.
  void Watch(const std::string& name, std::shared_ptr<Watcher> watcher);
  void Unwatch(const std::string& name, const Watcher* watcher);
  absl::StatusOr<kbench::v1::QueueSnapshot> Queue(const kbench::v1::GetQueueRequest& request);
  // Snapshots until the watcher is closed.
  void WatchQueue(const kbench::v1::GetQueueRequest& request,
                  std::shared_ptr<QueueWatcher> watcher);
  void UnwatchQueue(const QueueWatcher* watcher);
  absl::StatusOr<kbench::v1::Explanation> Explain(const std::string& name);
  double least_queue_seconds() const { return options_.queue_seconds; }

  // Why no jobs are served, one line; empty: they are.
  std::string WhyNotServing();

  std::vector<kbench::v1::Device> Devices();
  // Those that are drained or lent, or about to be.
  std::set<std::string> DevicesSetAside();
  // Names of those that a job of this owner may run on; empty selector: the owner's default, else a
  // GPU where there is one. None where the selector fits nothing.
  std::vector<std::string> DevicesFor(const std::string& selector, const std::string& owner);
  // coordinator_devices.cc. A device by its name or UUID; NOT_FOUND names those that are known.
  // `kind`: drain, quarantine. Durable when they return.
  absl::StatusOr<kbench::v1::Device> BlockDevice(const std::string& device, const std::string& kind,
                                                 const std::string& reason, const std::string& by);
  // `kind` as MaintenanceBook::End.
  absl::StatusOr<kbench::v1::Device> ResumeDevice(const std::string& device,
                                                  const std::string& kind, const std::string& by);
  // A selector; empty: none any more. `owner` empty: everybody's.
  absl::Status SetDefaultDevice(const std::string& device, const std::string& owner);
  // Empty: nothing is set. The flag: it is the owner's own, not everybody's.
  std::pair<std::string, bool> DefaultDeviceOf(const std::string& owner);
  kbench::v1::ListKernelsResponse Kernels();

  void OnWorkerMessage(const std::shared_ptr<WorkerLink>& link, kbench::v1::WorkerMessage message);
  void OnWorkerGone(const std::shared_ptr<WorkerLink>& link);

 private:
  struct ActiveJob {
    std::shared_ptr<const kbench::v1::JobSpec> spec;
    double created_at = 0;
    std::string owner;
  };
  struct Session {
    std::string worker_id;
    std::string boot_id;
    std::string version;
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
  // Of cases that end with results in one step.
  using CaseResults = std::map<scheduler::CaseRef, std::vector<kbench::v1::Result>>;

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
  bool AddHold(const scheduler::AssignTo& assign, const kbench::v1::JobSpec& spec, Step& step)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Commit(Step step) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CommitEffects(scheduler::Effects effects) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnCommitted(const std::shared_ptr<Step>& step, std::int64_t generation,
                   const absl::Status& status, const std::vector<std::int64_t>& sequences);
  void PublishEvents(std::vector<store::NewEvent> events);
  void OnStoreFailure(const absl::Status& status, std::int64_t generation);
  absl::Status Load();
  // What follows from the jobs that go on, and from those that ended badly.
  void TakeUp(const std::vector<scheduler::JobEntry>& jobs,
              const std::vector<store::Deaths>& deaths) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TryRecover();
  void TimerLoop();

  // coordinator_jobs.cc
  // Where jobs that have not ended stand.
  void Decorate(const std::vector<kbench::v1::Job*>& jobs) ABSL_LOCKS_EXCLUDED(mutex_);
  void DecorateLocked(const std::vector<kbench::v1::Job*>& jobs)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void StartWatch(const std::string& name, const std::shared_ptr<Watcher>& watcher);

  // coordinator_submits.cc
  struct Submission;
  absl::Status CheckSubmission(Submission& call) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status StoreSubmission(const std::shared_ptr<Submission>& call)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnSubmissionStored(const std::shared_ptr<Submission>& call, const absl::Status& status);
  void JobIsDurable(Submission& call) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // A request id that is known is answered with its job, whatever is wrong with it by now.
  void Refuse(const std::shared_ptr<Submission>& call, const absl::Status& status);
  // The job that the same request made before, if one did. Reads the store.
  absl::StatusOr<std::optional<kbench::v1::Job>> MadeBefore(const Submission& call);

  // coordinator_durations.cc
  void ResetScheduler() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // How long the cases of a job will take where they will run, as far as that is known.
  void FillEstimates(const kbench::v1::JobSpec& spec, scheduler::JobEntry& entry)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EstimateOn(const kbench::v1::JobSpec& spec, const kbench::v1::Device* device,
                  scheduler::Case& item) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RecordDuration(const scheduler::Effects& effects,
                      const std::vector<kbench::v1::Result>& results)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status LoadDurations();

  // coordinator_queue.cc
  // Where a waiting job stood as its watchers last heard.
  struct ToldPlace {
    kbench::v1::QueueUpdate update;
    double at = 0;
  };
  // What a client asked to see of the queue.
  struct QueueFilter {
    int most = 50;
    scheduler::ViewFilter jobs;
  };
  void PublishPositions();
  void PublishQueue();
  // Until when to rest after work that began then.
  double RestAfter(double begin) const;
  kbench::v1::QueueUpdate PlaceOf(const std::string& job) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<QueueFilter> FilterOf(const kbench::v1::GetQueueRequest& request)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // `whole`: a view of the whole line that is long enough, or null.
  kbench::v1::QueueSnapshot LookAt(const QueueFilter& filter, const scheduler::QueueView* whole)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::vector<kbench::v1::QueueSnapshot> Look(
      const std::vector<kbench::v1::GetQueueRequest>& requests);
  // Valid while the lock is held.
  QueueSources Sources() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // False for the word of an attempt that is not the newest of a running case.
  bool NoteProgress(const kbench::v1::AttemptProgress& progress);

  // coordinator_sharing.cc
  // By case of the job: what was measured before and answers it, without a name where nothing does.
  // Empty where nothing is to be reused. Reads the store.
  std::vector<store::Measured> FindReusable(const kbench::v1::Job& job);
  std::vector<store::Measured> FindReusableOn(const kbench::v1::Job& job,
                                              const kbench::v1::Device& device,
                                              const std::string& version);
  // Waiting cases of other jobs that this result answers.
  std::vector<scheduler::CaseRef> Sharers(const Session& session,
                                          const kbench::v1::AttemptResult& result)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool Answers(const Session& session, const kbench::v1::AttemptResult& result,
               const kbench::v1::JobSpec& spec, int index) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // coordinator_holds.cc
  void HoldAssigned(const std::string& job) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // OK when the job is a hold that has a device.
  absl::Status CheckHeld(const std::string& job) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void LapseHolds() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Where a running case runs: host and UUID.
  void FillPlace(kbench::v1::CaseStatus& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // coordinator_workers.cc
  // Links are closed outside the lock: an end may call back in.
  using Closings = std::vector<std::pair<std::shared_ptr<WorkerLink>, absl::Status>>;
  void HandleWorkerMessage(const std::shared_ptr<WorkerLink>& link,
                           kbench::v1::WorkerMessage message, Closings& closings)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnHello(const std::shared_ptr<WorkerLink>& link, const kbench::v1::WorkerHello& hello,
               Closings& closings) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void PublishProgress(const std::shared_ptr<WorkerLink>& link,
                       kbench::v1::AttemptProgress progress);
  // False, and both sessions end, when two processes take the identity from each other.
  bool KeepsIdentity(const std::shared_ptr<WorkerLink>& link, const kbench::v1::WorkerHello& hello,
                     Closings& closings) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnHeartbeat(const Session& session, const kbench::v1::Heartbeat& heartbeat)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnResult(const std::shared_ptr<WorkerLink>& link, const Session& session,
                kbench::v1::AttemptResult result) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CompleteResult(const Session& session, int index, const kbench::v1::AttemptId& id,
                      kbench::v1::Result& result) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::shared_ptr<WorkerLink> LinkOf(const std::string& worker_id)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // coordinator_live.cc
  metrics::LiveState Live();
  void LookAtQueue(metrics::LiveState& live) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void LookAtDevices(metrics::LiveState& live) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // coordinator_devices.cc
  absl::StatusOr<std::string> KnownDevice(const std::string& typed)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // As scheduler::WorkerEntry::blocked.
  std::string BlockedBy(const std::string& device) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<kbench::v1::Device> ChangeMaintenance(
      const std::string& typed,
      const std::function<std::vector<store::MaintenanceRecord>(const std::string&)>& change);
  std::pair<std::string, bool> DefaultOf(const std::string& owner)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // A connected worker that says nothing for longer than a lease: its device is OFFLINE for all.
  void LookForSilence() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Brings registry and scheduler in step with the device's maintenance and state.
  scheduler::Effects FollowMaintenance(const std::string& device)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // For the check of a submission of this owner.
  DeviceContext DeviceContextFor(const std::string& owner) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Why the device that a job waits for is blocked, for a person; empty: it is not.
  std::string BlockedText(const std::string& job, const std::string& reason)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RestoreDevices(const store::StoredDevices& stored) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::vector<kbench::v1::Device> DevicesNow() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void FollowEnvironment(const std::string& device) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void KeepDevice(const kbench::v1::Device& device, Step& step)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Faults, canaries, and what else of a heartbeat is not forgotten.
  void OnDeviceNews(const Session& session, const kbench::v1::Heartbeat& heartbeat)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  store::Store& store_;
  metrics::Metrics& metrics_;
  Clock& clock_;
  const CoordinatorOptions options_;
  const double wall_offset_;  // Now() = wall time at the start + steady time since
  double started_at_ = 0;
  WatchHub hub_;
  QueueHub queue_hub_;
  // Of the timer's thread alone; times on the steady clock.
  std::map<std::string, ToldPlace> places_;
  double places_rest_until_ = 0;
  double queue_rest_until_ = 0;
  Executor executor_;
  Executor lookups_;  // what a submission has to read from the store

  Mutex mutex_;
  CondVar timer_wake_;
  scheduler::Scheduler scheduler_ ABSL_GUARDED_BY(mutex_);
  DeviceRegistry devices_ ABSL_GUARDED_BY(mutex_);
  history::Durations durations_ ABSL_GUARDED_BY(mutex_);
  MaintenanceBook maintenance_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::string> defaults_ ABSL_GUARDED_BY(mutex_);  // by owner; "": everybody
  std::map<std::string, double> written_at_ ABSL_GUARDED_BY(mutex_);     // devices, by name
  std::map<std::string, ActiveJob> active_ ABSL_GUARDED_BY(mutex_);
  store::SpecPool specs_ ABSL_GUARDED_BY(mutex_);  // of `active_`
  std::map<std::shared_ptr<WorkerLink>, Session> sessions_ ABSL_GUARDED_BY(mutex_);
  Sharing sharing_ ABSL_GUARDED_BY(mutex_);
  Limits limits_ ABSL_GUARDED_BY(mutex_);
  PoisonMemory poison_ ABSL_GUARDED_BY(mutex_);
  Contests contests_ ABSL_GUARDED_BY(mutex_);
  std::map<scheduler::CaseRef, RunningProgress> progress_ ABSL_GUARDED_BY(mutex_);  // of what runs
  // When the client of a hold that runs has been silent for too long. Not durable: a restart grants
  // the whole time again.
  std::map<std::string, double> hold_lapses_ ABSL_GUARDED_BY(mutex_);
  std::int64_t next_order_ ABSL_GUARDED_BY(mutex_) = 1;
  std::int64_t generation_ ABSL_GUARDED_BY(mutex_) = 1;  // steps of an older one are void
  bool broken_ ABSL_GUARDED_BY(mutex_) = false;          // a commit failed: waiting for the store
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
  ResultObserver result_observer_ ABSL_GUARDED_BY(mutex_);
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread timer_;
};

}  // namespace kbench::server
