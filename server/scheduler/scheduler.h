// The scheduler: a pure state machine over jobs, cases, leases and workers. No clock, no thread, no
// I/O: time and events are arguments, and what is to be stored or sent comes back as effects, in
// order. The coordinator (server/rpc/coordinator.h) owns the only instance, under its lock, stores
// the transitions, and sends only after they are durable. Built again from the store after a
// restart (Restore).
//
// Who runs next on a device that is free, one case at a time (server/README.md, "Who runs next",
// has the reasons and the figures):
//   1. Classes: interactive before ci before batch. Aging: whoever has waited for aging_seconds
//      stands one class higher.
//   2. Within a class the owner with the lowest decayed device-seconds. A case is charged at its
//      estimate when it is given out, and at what it took when it has ended. An attempt that was
//      lost through a fault of the machine costs nothing; one whose worker died is charged until
//      that was noticed, as it may be the case that kills workers.
//   3. Among the jobs of one owner and class the higher priority, then the earlier turn: the time
//      of submission plus turn_factor times the job's estimate, that at most the bound. So the
//      shorter goes first, and a long one is overtaken only by what came within the bound after it.
//      A job that has had the device for as long as the bound gets another turn, as if it came
//      then: nobody's long sweep holds up what comes after it for longer than that.
//   4. Who has waited for bound_seconds is promoted: goes before all who have not, the longest
//      waiting first. Promoted is an owner's class (on the devices it waits for), not a single job:
//      a hundred old jobs of one owner must not take the device from everybody else. A case that
//      begins or ends there starts the waiting anew.
//   5. An interactive job waits for at most one case that is not interactive: when the last case of
//      the device was not, an interactive one goes before everything, promoted ones included. So
//      those get at least every second case. A case that runs is never interrupted; a hold is one.
// A job stays on the device it started on while that can take it, so that its numbers compare.
//
// `now` is in seconds on a clock that never goes back and means the same after a restart.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "server/scheduler/ahead.h"
#include "server/scheduler/backlog.h"
#include "server/scheduler/fit.h"
#include "server/scheduler/line.h"
#include "server/scheduler/state.h"
#include "server/scheduler/types.h"
#include "server/scheduler/usage.h"
#include "server/scheduler/view.h"

namespace kbench::scheduler {

class Scheduler {
 public:
  explicit Scheduler(Options options);
  // How long a case will take on a device, asked when it is given out; none: as its entry says. A
  // pure function of what the caller knows; called within the other methods.
  using Estimator = std::function<void(Case& item, const std::string& device)>;
  void SetEstimator(Estimator estimator) { estimator_ = std::move(estimator); }

  // After a restart: jobs that have not ended, with their leases; `next_epoch` above every epoch
  // ever used. Leased cases wait `restore_grace_seconds` for their worker.
  // `usages`: as the effects gave them.
  Effects Restore(double now, std::vector<JobEntry> jobs, std::int64_t next_epoch,
                  const std::vector<OwnerUsage>& usages = {});

  // A death of a worker from before a restart, also in a job that has ended (Case::content).
  void RememberDeath(double at, std::uint64_t content, const CaseRef& ref);

  // Cases that have ended already (with the results of an earlier run) are taken as they are.
  Effects AddJob(double now, JobEntry entry);
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
  void WorkerOffers(double now, const std::string& worker_id, std::set<std::string> capabilities);
  // A worker that was there before a restart: jobs wait for its device. A hello takes its place.
  void KnowWorker(double now, WorkerEntry worker);
  // From now on the device takes nothing new, for this reason (WorkerEntry::blocked); empty: it
  // takes again.
  Effects BlockDevice(double now, const std::string& device, const std::string& reason);
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

  // Ends a running hold well, and tells its worker. Nothing for any other job.
  Effects EndHold(double now, const std::string& job, const std::string& reason,
                  const std::string& message);
  // Whether the job is a hold that has a device.
  bool HoldIsRunning(const std::string& job) const;

  // Expires leases and queue deadlines. Call at NextDeadline() at the latest.
  Effects Tick(double now);
  std::optional<double> NextDeadline() const;
  // Above every epoch given or reported so far.
  std::int64_t next_epoch() const { return next_epoch_; }

  // Cases that start before the job's next one on the devices it may run on, those that run
  // included, if nothing else came and all took as long as estimated; 0 when it runs itself or is
  // unknown. Who will be promoted or rise a class until then is not foreseen. Costs a search in the
  // lanes (line.h) that compete, not a walk over jobs.
  int QueuePosition(const std::string& job) const;
  // Why a queued job waits: "" (its turn comes), NO_DEVICE (no worker has ever offered it),
  // DEVICE_LACKS_KERNEL (none of those it may run on can), DEVICE_OFFLINE, DEVICE_NOT_READY, or
  // what its devices are blocked for (WorkerEntry::blocked).
  std::string WaitReason(double now, const std::string& job) const;
  const JobEntry* FindJob(const std::string& job) const;  // until it has ended
  std::vector<std::string> ActiveJobs() const;
  // Whether the case waits, and could be tried by this worker as far as its job and the device go.
  bool WaitsFor(const CaseRef& ref, const std::string& worker_id) const;
  // Whether a job with this selector might run on this worker's device.
  bool SelectsWorker(const std::string& selector, const std::string& worker_id) const;
  // Connected, and silent for longer than a lease: nobody can say what it does.
  bool IsSilent(double now, const std::string& worker_id) const;
  // Whether this is the newest attempt at its case and the worker's, and not ended.
  bool IsOpen(const std::string& worker_id, const Held& held) const;
  // What runs on a device of this name.
  std::optional<CaseRef> RunningOn(const std::string& device) const;
  int QueuedCases() const { return static_cast<int>(backlog_.cases()); }
  const Backlog& backlog() const { return backlog_; }
  // Jobs that have not ended, and those of them of which a case runs.
  int Jobs() const { return static_cast<int>(jobs_.size()); }
  int RunningJobs() const;
  int RunningCases() const { return static_cast<int>(leases_.size()); }
  // Device-seconds of an owner, decayed, with what runs at its estimate.
  double UsedSeconds(double now, const std::string& owner) const;
  // Position and start of a job in one call; of one that does not wait: position 0, start unknown.
  Place PlaceOf(double now, const std::string& job) const;
  // Of each, for little more than that of one; of an unknown one as of one that does not wait.
  std::vector<Place> PlacesOf(double now, const std::vector<std::string>& jobs) const;
  // The queue for people: at most `most` of the waiting jobs, in the order of the policy; those for
  // different devices do not wait for each other.
  // Places and counts are those of the whole queue, whatever the filter.
  QueueView View(double now, int most, const ViewFilter& filter = {}) const;
  // How each device suits a job that has not ended.
  std::vector<Fit> Fits(double now, const std::string& job) const;
  // Why a job is where it is; at most `most` of those before it. Of an unknown or ended job: kNone.
  Explained Explain(double now, const std::string& job, int most) const;

 private:
  enum class Loss { kExpired, kLost, kDeath };
  // An attempt that has a lease, and what its owner was charged for it.
  struct Running {
    CaseRef ref;
    double began = 0;
    double charged = 0;
  };

  struct Death {
    double at = 0;
    CaseRef ref;
  };

  bool Live(const WorkerState& worker, double now) const;
  bool Assignable(const WorkerState& worker, double now) const;
  static bool Able(const std::string& need, const WorkerEntry& worker);
  // The worker is one the case may run on, and can run it.
  bool Matches(const std::string& selector, const std::string& need,
               const WorkerEntry& worker) const;
  bool MatchesSome(const JobState& job, const WorkerEntry& worker) const;
  // One job stays on devices of one model, whatever its selector fits: drops the others.
  void KeepModel(const JobState& job, std::vector<WorkerState*>& workers) const;
  // The device is of another model than the one the job keeps to.
  bool OtherModel(const JobState& job, const WorkerEntry& worker) const;
  // The workers that may run a case of this need now.
  int PoolOf(const JobState& job, const std::string& need);
  int Intern(std::vector<WorkerState*> workers);
  std::vector<Part> PartsOf(const JobState& job);
  // Brings the line in step with the job's queued cases.
  void Reline(double now, JobState& job);
  void Pin(JobState& job, const std::string& device);
  // Which cases a worker can run has changed.
  void RelineAll(double now);
  // Notes who can take pinned jobs now.
  void LookAtPins(double now);

  // ahead.cc: all lanes that compete for the workers of a pool, and what of them goes first.
  Field Competing(int pool) const;
  double ShareOf(int pool, int of) const;
  bool InteractiveTurn(int pool) const;
  Standing StandingIn(const JobState& job, const Part& part, Fields& fields) const;
  void TakeTurns(const Lane& own, Stage stage, const Field& field, Standing& standing) const;
  static std::vector<Ahead> AheadOf(const Standing& standing, int most);
  // The waiting jobs.
  std::vector<const JobState*> InOrder(int most, const ViewFilter& filter) const;
  bool Passes(const Lane& lane, const ViewFilter& filter) const;
  Place PlaceIn(double now, const JobState& job, Fields& fields) const;
  std::string ReasonOf(double now, const JobState& job) const;     // WaitReason of one that waits
  Standing StandingOf(const JobState& job, Fields& fields) const;  // of its part that comes first
  DeviceView ViewOf(double now, const WorkerState& worker) const;
  bool IsPromoted(const JobState& job) const;
  void DeviceFor(double now, int pool, Explained& explained) const;
  bool Waits(const JobState& job) const;      // none of its cases runs
  int RunningFor(const JobState& job) const;  // cases on the devices it may run on
  Window StartOf(double now, const Standing& standing) const;
  Window YieldOf(double now, const Case& item) const;

  // The first queued case of the job that the worker may take; -1: none.
  std::string Hindrance(double now, const JobState& job, const WorkerState& worker) const;
  int NextFor(const JobState& job, const WorkerState& worker);
  Case* FindCase(const CaseRef& ref);
  // The case whose newest attempt this is, or nullptr when it is fenced off, another worker's, or
  // has ended.
  Case* OpenCase(const std::string& worker_id, const Held& held);

  JobState& Adopt(double now, JobEntry entry);
  void SetTurn(JobState& job, double from);
  void StartCase(double now, JobState& job, int index, WorkerState& worker, Effects& effects);
  void Dispatch(double now, Effects& effects);
  void LoseLease(double now, Case& item, Loss loss, Effects& effects);
  void RetryOrFail(double now, Case& item, const std::string& message, Effects& effects);
  // deaths.cc: of the case's content within the last hour; its own for ever.
  int DeathsOf(double now, const Case& item);
  void PruneDeaths(double now);
  std::string PoisonText(const Case& item) const;
  // Ends the case, and all others of its content that wait.
  void EndPoisoned(double now, const Case& item, Effects& effects);
  void EndCase(double now, Case& item, State state, const std::string& reason,
               const std::string& message, Effects& effects);
  void Requeue(Case& item, Effects& effects);
  // Ends the lease; its owner is charged what the attempt `took`.
  void DropLease(double now, Case& item, double took, Effects& effects);
  static double Took(double now, const Case& item);
  void AddLease(double now, Case& item);
  void Queue(JobState& job, int index);
  void Unqueue(JobState& job, int index);
  void Served(double now, JobState& job, const std::string& worker_id);
  // Until when an attempt is kept that is finished and whose result has not come.
  double ResultDue(const Case& item) const;
  // The worker goes on with the attempt.
  void TakeUp(double now, const WorkerEntry& worker, Case& item, const Held& held,
              Effects& effects);
  // Brings the state of the job in line with its cases; forgets it when it has ended.
  void Settle(double now, const std::string& job, Effects& effects);
  bool RefuseHello(double now, const WorkerEntry& worker, HelloAnswer& answer) const;
  HeldAction JudgeHeld(double now, const WorkerEntry& worker, const Held& held, Effects& effects);
  void DropUnnamed(double now, const WorkerEntry& worker, bool hello, const std::vector<Held>& held,
                   Effects& effects);

  Options options_;
  Estimator estimator_;
  std::int64_t next_epoch_ = 1;
  std::int64_t next_serial_ = 1;
  Backlog backlog_;
  double next_prune_at_ = 0;
  std::map<std::string, JobState> jobs_;
  Usage usage_;
  Line line_;                                           // jobs with queued cases
  std::set<std::pair<double, std::string>> deadlines_;  // queue deadlines of unstarted jobs
  std::map<std::int64_t, Running> leases_;              // by epoch
  std::map<std::string, WorkerState> workers_;
  std::map<std::uint64_t, std::vector<Death>> deaths_;  // by content
  std::map<std::string, std::set<JobState*>> pinned_;   // waiting jobs by their pinned device
  // Sets of workers: which cases they may run is looked up once, until a worker changes.
  std::map<std::tuple<std::string, std::string, std::string>, int> routes_;
  std::map<std::vector<std::string>, int> pool_ids_;
  std::vector<std::vector<WorkerState*>> pools_;
};

}  // namespace kbench::scheduler
