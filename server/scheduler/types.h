// The words of the scheduler: jobs, cases, leases, workers, and what comes back from a step (what
// must be made durable, what is to be sent then). Plain value types, no behaviour beyond a
// comparison. The store persists Case and JobEntry as they are.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace kbench::scheduler {

enum class State { kQueued, kRunning, kSucceeded, kFailed, kCancelled, kExpired };

bool IsFinal(State state);
const char* StateName(State state);  // "QUEUED", "RUNNING" ...

// The classes of jobs, the first goes first (with aging: see scheduler.h).
enum class PriorityClass { kInteractive, kCi, kBatch };

const char* ClassName(PriorityClass priority_class);  // "interactive", "ci", "batch"

struct CaseRef {
  std::string job;  // jobs/<id>
  int index = 0;
  friend auto operator<=>(const CaseRef&, const CaseRef&) = default;
};

// The right of one worker to try a case.
struct Lease {
  std::string worker_id;
  std::string boot_id;
  int attempt = 0;
  std::int64_t epoch = 0;
  double expires_at = 0;   // seconds on the caller's clock; not durable
  bool confirmed = false;  // the worker has named it since it was given; not durable
};

// Deaths of workers over the same content count together for so long.
inline constexpr double kPoisonSeconds = 3600;

struct Case {
  CaseRef ref;
  State state = State::kQueued;
  int attempts = 0;        // tries so far
  int infra_failures = 0;  // tries lost through a fault of kbench or the machine, deaths included
  int worker_deaths = 0;   // tries during which the worker process died
  // What it asks for: deaths of workers count together over all cases of the same content, in
  // whoever's job, and two make them POISON. 0: this case's own deaths count alone. Follows from
  // the job's spec.
  std::uint64_t content = 0;
  // Epoch of the newest attempt while its result would still be accepted (also after its lease ran
  // out); 0 when there is none.
  std::int64_t open_epoch = 0;
  std::string device;  // of the newest attempt
  std::string worker;  // of the newest attempt
  std::string reason;
  std::string message;
  double started_at = 0;  // of the newest attempt, seconds on the caller's clock; 0: never
  double ended_at = 0;    // 0 while not final
  std::optional<Lease> lease;
  // What a worker must have to run it (WorkerEntry::capabilities); empty: any can. Follows from the
  // job's spec.
  std::string need;
  // When its worker first said that the newest attempt is finished and its result not sent yet; 0:
  // never. Not durable.
  double finished_since = 0;
  // A hold that its worker has begun: somebody may be using the device, so that it is never tried
  // again. Not durable: true after a restart of whatever is leased.
  bool held = false;
  // How long its device will be taken, seconds, from how long such cases took before
  // (server/history); `low` and `high` bound what to expect. Not durable: made anew from the
  // history.
  double estimate = 10;
  double estimate_low = 1;
  double estimate_high = 60;
  // Of a case that ended without an attempt of its own: whose results are its results.
  std::string results_of;  // jobs/<id>
  int results_case = 0;    // that job's case
};

struct JobEntry {
  std::string name;
  std::string owner;
  PriorityClass priority_class = PriorityClass::kInteractive;
  double submitted_at = 0;    // seconds on the caller's clock
  bool hold = false;          // its one case holds the device: nothing is measured
  int priority = 500;         // among the jobs of its owner and class
  std::int64_t order = 0;     // position in the line: the order of submission
  std::string device;         // which devices may run it: a selector (selector.h)
  double queue_deadline = 0;  // 0: none; not started by then: EXPIRED
  State state = State::kQueued;
  std::string reason;
  std::string message;
  bool cancel_requested = false;
  double started_at = 0;
  double ended_at = 0;
  std::vector<Case> cases;
};

struct WorkerEntry {
  std::string worker_id;
  std::string boot_id;
  std::string device;                  // stable name
  std::string device_kind;             // cpu, cuda
  std::string device_key;              // host and hardware: two live workers must not share it
  std::set<std::string> capabilities;  // see Case::need
  bool ready = true;
  bool draining = false;  // its process is about to end
  // What selectors go by beside the name and the kind.
  std::string uuid;
  std::string model;         // "NVIDIA H200"
  std::string architecture;  // "sm_90"
  std::map<std::string, std::string> labels;
  // Why it takes nothing though its worker is well: DRAINING, QUARANTINED, DRIVER_MISMATCH; empty:
  // it takes.
  std::string blocked;
};

// An attempt as a worker names it.
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
// Everything of a job that changes after its submission.
struct JobTransition {
  std::string job;
  State state = State::kQueued;
  std::string reason;
  std::string message;
  bool cancel_requested = false;
  double started_at = 0;
  double ended_at = 0;
};
// Device-seconds of an owner whose attempts have ended, as of a time from which they decay; 0: the
// owner is forgotten.
struct OwnerUsage {
  std::string owner;
  double seconds = 0;
  double as_of = 0;
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
  bool finished = false;  // a hold that has ended well
};

struct Effects {
  std::vector<CaseTransition> cases;
  std::vector<JobTransition> jobs;
  std::vector<OwnerUsage> usages;  // the newest of an owner is the last
  std::vector<AssignTo> assigns;
  std::vector<CancelOn> cancels;
  int expired_leases = 0;  // leases that ran out in this step, for the metrics

  bool empty() const {
    return cases.empty() && jobs.empty() && usages.empty() && assigns.empty() && cancels.empty();
  }
};

struct Options {
  double lease_seconds = 30;
  double restore_grace_seconds = 30;  // how long after a restart a leased case waits for its worker
  // How many lease durations an attempt is kept whose worker has its result and does not send it.
  double finished_leases = 3;
  int max_attempts = 3;
  int poison_deaths = 2;
  // Who runs next: see scheduler.h.
  double half_life_seconds = 24 * 3600;  // of the usage of owners
  double aging_seconds = 600;            // of waiting, for one class up
  double bound_seconds = 1800;           // of waiting, until promoted
  double turn_factor = 6;                // a job's turn: its estimate so many times after it came
};

// How an attempt ended, as its worker says.
struct AttemptEnd {
  enum class Kind { kResult, kInfra, kCancelled };
  Kind kind = Kind::kResult;
  std::string message;      // kInfra: what went wrong; of a hold: how it ended
  std::string reason = "";  // of a hold
};

struct ResultAnswer {
  bool accepted = false;  // false: stale, fenced off, or already stored
  Effects effects;
};

struct HelloAnswer {
  bool accepted = false;
  std::string refusal_reason;  // DEVICE_HELD, DEVICE_NAME_TAKEN
  std::string refusal;         // the same for a person
  std::vector<std::pair<Held, HeldAction>> held;
  Effects effects;
};

}  // namespace kbench::scheduler
