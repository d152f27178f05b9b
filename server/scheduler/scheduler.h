// The scheduler: a pure state machine over jobs, cases, leases and workers. No clock, no thread, no
// I/O: time and events are arguments, and what is to be stored or sent comes back as effects, in
// order. The coordinator (server/rpc/coordinator.h) owns the only instance, under its lock, stores
// the transitions, and sends only after they are durable. Built again from the store after a
// restart (Restore).
//
// Policy of this version: per device the highest priority first, then first come, first served; one
// case at a time on a device, and only one that its worker can run. A job that names no single
// device stays on the one it started on while that one's worker lives, so that its numbers compare.
//
// `now` is in seconds on a clock that never goes back and means the same after a restart.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "server/scheduler/types.h"
#include "server/scheduler/view.h"

namespace kbench::scheduler {

class Scheduler {
 public:
  explicit Scheduler(Options options);

  // After a restart: jobs that have not ended, with their leases; `next_epoch` above every epoch
  // ever used. Leased cases wait `restore_grace_seconds` for their worker.
  Effects Restore(double now, std::vector<JobEntry> jobs, std::int64_t next_epoch);

  // Cases that have ended already (with the results of an earlier run) are taken as they are.
  Effects AddJob(double now, JobEntry job);
  // Idempotent; running cases are cancelled on their worker and end when it answers or its lease
  // runs out.
  Effects CancelJob(double now, const std::string& job);

  // A new boot of the same worker displaces the old one. An attempt that it does not name is lost
  // at once; with a new boot that counts as the death of the worker.
  HelloAnswer WorkerHello(double now, const WorkerEntry& worker, const std::vector<Held>& held);
  // Renews the leases the worker names; a lease it has named before and names no longer is lost.
  // One it names as finished is renewed for a bounded time: its result must come. A heartbeat of
  // another boot than the last hello's is ignored.
  Effects WorkerHeartbeat(double now, const std::string& worker_id, const std::string& boot_id,
                          bool ready, bool draining, const std::vector<Held>& held);
  // A connected worker can do something else than it said in its hello; what waits for that is
  // assigned at its next heartbeat.
  void WorkerOffers(const std::string& worker_id, std::set<std::string> capabilities);
  // The stream broke. Leases live on until they expire or the worker comes back.
  Effects WorkerGone(double now, const std::string& worker_id, const std::string& boot_id);
  // The first result of the newest attempt is accepted, even when its lease has run out, as long
  // as no newer attempt has begun.
  ResultAnswer WorkerResult(double now, const std::string& worker_id, const Held& held,
                            const AttemptEnd& end);
  // Ends a case that cannot be tried (no implementation for it, say). For an attempt just assigned.
  Effects FailCase(double now, const CaseRef& ref, std::int64_t epoch, const std::string& reason,
                   const std::string& message);
  // Ends a waiting case without an attempt, with the results of a case of another job: its run
  // found out the same. Nothing when it no longer waits.
  Effects FinishCase(double now, const CaseRef& ref, const CaseRef& results_of,
                     const std::string& device);

  // Expires leases and queue deadlines. Call at NextDeadline() at the latest.
  Effects Tick(double now);
  std::optional<double> NextDeadline() const;

  // Cases ahead of the job's next case on the devices it may run on, running ones included; 0 when
  // it runs itself or is unknown.
  int QueuePosition(const std::string& job) const;
  // Why a queued job waits: "" (its turn comes), NO_DEVICE (no worker has ever offered it),
  // DEVICE_LACKS_KERNEL (none of those it may run on can), DEVICE_OFFLINE, DEVICE_NOT_READY.
  std::string WaitReason(double now, const std::string& job) const;
  const JobEntry* FindJob(const std::string& job) const;  // until it has ended
  std::vector<std::string> ActiveJobs() const;
  // Whether the case waits, and could be tried by this worker as far as its job and the device go.
  bool WaitsFor(const CaseRef& ref, const std::string& worker_id) const;
  // Whether a job with this selector might run on this worker's device.
  bool MayRunOn(const std::string& selector, const std::string& worker_id) const;
  // Whether this is the newest attempt at its case and the worker's, and not ended.
  bool IsOpen(const std::string& worker_id, const Held& held) const;
  // What runs on a device of this name.
  std::optional<CaseRef> RunningOn(const std::string& device) const;
  int QueuedCases() const;
  int RunningCases() const;
  // The queue for people: at most `most` of the waiting jobs, in the order in which they would
  // start.
  QueueView View(double now, int most) const;
  // Why a job is where it is; at most `most` of those before it. Of an unknown or ended job: kNone.
  Explained Explain(double now, const std::string& job, int most) const;

 private:
  struct WorkerState {
    WorkerEntry entry;
    bool connected = false;
    double last_seen = 0;
    // After a failure of the machine nothing is assigned until a heartbeat says how it is.
    bool needs_heartbeat = false;
    std::set<std::int64_t> busy;  // epochs it says it is running
  };
  struct JobState {
    JobEntry entry;
    std::set<int> queued;
    int open = 0;               // cases that are not final
    std::string pinned_device;  // where its newest case ran
  };
  // -priority, order, name: the line.
  using LineKey = std::tuple<int, std::int64_t, std::string>;
  enum class Loss { kExpired, kLost, kDeath };

  static LineKey KeyOf(const JobEntry& job);
  bool Live(const WorkerState& worker, double now) const;
  bool Assignable(const WorkerState& worker, double now) const;
  static bool Able(const std::string& need, const WorkerEntry& worker);
  // The worker is one the case may run on, and can run it.
  bool Matches(const std::string& selector, const std::string& need,
               const WorkerEntry& worker) const;
  bool MatchesSome(const JobState& job, const WorkerEntry& worker) const;
  bool MayTake(const JobState& job, const Case& item, const WorkerState& worker, double now) const;
  // Another job's run of the same case is under way where this one may run: its results will do.
  bool SharesRunning(const JobState& job, const Case& item) const;
  // The first queued case of the job that the worker may take; -1: none.
  int NextFor(const JobState& job, const WorkerState& worker, double now) const;
  bool Compete(const JobState& a, const JobState& b) const;
  Case* FindCase(const CaseRef& ref);
  // The case whose newest attempt this is, or nullptr when it is fenced off, another worker's, or
  // has ended.
  Case* OpenCase(const std::string& worker_id, const Held& held);

  void StartCase(double now, JobState& job, int index, WorkerState& worker, Effects& effects);
  void Dispatch(double now, Effects& effects);
  void LoseLease(double now, Case& item, Loss loss, Effects& effects);
  void RetryOrFail(double now, Case& item, const std::string& message, Effects& effects);
  void EndCase(double now, Case& item, State state, const std::string& reason,
               const std::string& message, Effects& effects);
  void Requeue(Case& item, Effects& effects);
  void DropLease(Case& item);
  // Until when an attempt is kept that is finished and whose result has not come.
  double ResultDue(const Case& item) const;
  void Adopt(double now, const WorkerEntry& worker, Case& item, const Held& held, Effects& effects);
  // Brings the state of the job in line with its cases; forgets it when it has ended.
  void Settle(double now, const std::string& job, Effects& effects);
  bool RefuseHello(double now, const WorkerEntry& worker, HelloAnswer& answer) const;
  HeldAction JudgeHeld(double now, const WorkerEntry& worker, const Held& held, Effects& effects);
  void DropUnnamed(double now, const WorkerEntry& worker, bool hello, const std::vector<Held>& held,
                   Effects& effects);

  Options options_;
  std::int64_t next_epoch_ = 1;
  std::map<std::string, JobState> jobs_;
  std::set<LineKey> line_;                              // jobs with queued cases
  std::set<std::pair<double, std::string>> deadlines_;  // queue deadlines of unstarted jobs
  std::map<std::int64_t, CaseRef> leases_;              // by epoch
  std::map<std::string, WorkerState> workers_;
};

}  // namespace kbench::scheduler
