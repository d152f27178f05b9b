// The scheduler: a pure state machine over jobs, cases, leases and workers. No clock, no thread, no
// I/O: time and events are arguments, and what is to be stored or sent comes back as effects, in
// order. The coordinator (server/rpc/coordinator.h) owns the only instance, under its lock, stores
// the transitions, and sends only after they are durable. Built again from the store after a
// restart (Restore).
//
// Policy of this version: per device the highest priority first, then first come, first served; one
// case at a time on a device.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace kbench::scheduler {

enum class State { kQueued, kRunning, kSucceeded, kFailed, kCancelled, kExpired };

bool IsFinal(State state);

struct CaseRef {
  std::string job;  // jobs/<id>
  int index = 0;
  friend auto operator<=>(const CaseRef&, const CaseRef&) = default;
};

struct Lease {
  std::string worker_id;
  std::string boot_id;
  int attempt = 0;
  std::int64_t epoch = 0;
  double expires_at = 0;  // seconds on the caller's clock
};

struct Case {
  CaseRef ref;
  State state = State::kQueued;
  int attempts = 0;        // tries so far
  int infra_failures = 0;  // tries lost through a fault of kbench or the machine
  int worker_deaths = 0;   // tries during which the worker process died: two make it POISON
  std::string reason;
  std::optional<Lease> lease;
};

struct JobEntry {
  std::string name;
  int priority = 500;
  std::int64_t order = 0;     // position in the line: the order of submission
  std::string device;         // resolved device name; empty: any ready device (GPU first)
  double queue_deadline = 0;  // 0: none; not started by then: EXPIRED
  State state = State::kQueued;
  std::string reason;
  bool cancel_requested = false;
  std::vector<Case> cases;
};

struct WorkerEntry {
  std::string worker_id;
  std::string boot_id;
  std::string device;  // stable name
  std::string device_kind;
  std::string device_key;  // host and hardware: two live workers must not share it
  bool ready = true;
  bool draining = false;
};

struct Held {
  CaseRef ref;
  int attempt = 0;
  std::int64_t epoch = 0;
  bool finished = false;
};

enum class HeldAction { kKeep, kKill, kResend };

// What must be made durable.
struct CaseTransition {
  Case state;  // the whole new state of the case
};
struct JobTransition {
  std::string job;
  State state;
  std::string reason;
};
// What is to be sent once the transitions are durable.
struct AssignTo {
  std::string worker_id;
  CaseRef ref;
  int attempt = 0;
  std::int64_t epoch = 0;
  bool more_of_job = false;
};
struct CancelOn {
  std::string worker_id;
  CaseRef ref;
  int attempt = 0;
  std::int64_t epoch = 0;
};

struct Effects {
  std::vector<CaseTransition> cases;
  std::vector<JobTransition> jobs;
  std::vector<AssignTo> assigns;
  std::vector<CancelOn> cancels;
  void Append(Effects other);
};

struct Options {
  double lease_seconds = 20;
  double restore_grace_seconds = 20;  // how long after a restart a leased case waits for its worker
  int max_attempts = 3;
  int poison_deaths = 2;
};

// Answer to a result of a worker.
struct ResultAnswer {
  bool accepted = false;  // false: stale, fenced off, or already stored
  Effects effects;
};

struct HelloAnswer {
  bool accepted = false;
  std::string refusal;  // why not: the device is held by another live worker
  std::vector<std::pair<Held, HeldAction>> held;
  Effects effects;
};

class Scheduler {
 public:
  explicit Scheduler(Options options);

  // After a restart: jobs that have not ended, with their leases; `next_epoch` above every epoch
  // ever used.
  Effects Restore(double now, std::vector<JobEntry> jobs, std::int64_t next_epoch);

  Effects AddJob(double now, JobEntry job);
  // Idempotent; running cases are cancelled on their worker and end when it answers or its lease
  // runs out.
  Effects CancelJob(double now, const std::string& job);

  HelloAnswer WorkerHello(double now, const WorkerEntry& worker, const std::vector<Held>& held);
  // Renews the leases the worker names; leases it ought to hold but does not name are lost.
  Effects WorkerHeartbeat(double now, const std::string& worker_id, const std::string& boot_id,
                          bool ready, bool draining, const std::vector<Held>& held);
  // The stream broke. Leases live on until they expire or the worker comes back.
  Effects WorkerGone(double now, const std::string& worker_id, const std::string& boot_id);
  // `infra`: the attempt found nothing out through a fault of kbench. `cancelled`: it was stopped
  // on request.
  ResultAnswer WorkerResult(double now, const std::string& worker_id, const Held& held, bool infra,
                            bool cancelled);

  // Expires leases and queue deadlines. Call at NextDeadline() at the latest.
  Effects Tick(double now);
  std::optional<double> NextDeadline() const;

  // Cases that would run before the job's next queued case on its device; 0 when it runs or is
  // unknown.
  int QueuePosition(const std::string& job) const;
  // Why a queued job waits: "" (its turn comes), NO_DEVICE, DEVICE_OFFLINE, DEVICE_NOT_READY.
  std::string WaitReason(const std::string& job) const;
  const JobEntry* FindJob(const std::string& job) const;
  std::vector<std::string> ActiveJobs() const;
  int QueuedCases() const;

 private:
  struct WorkerState;
  Options options_;
  std::int64_t next_epoch_ = 1;
  std::map<std::string, JobEntry> jobs_;
  std::map<std::string, WorkerEntry> workers_;
};

}  // namespace kbench::scheduler
