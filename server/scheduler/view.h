// The queue as the policy sees it, for people: Scheduler::View and Scheduler::Explain fill these.
// Plain values. Times are seconds on the scheduler's clock.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "server/scheduler/types.h"

namespace kbench::scheduler {

// A time to come, from the estimates of the cases before it. `known` is false where nothing can be
// said (no device would take it).
struct Window {
  bool known = false;
  double earliest = 0;
  double latest = 0;
};

struct DeviceView {
  std::string device;
  std::string worker_id;
  std::optional<CaseRef> running;
  double started_at = 0;
  Window yields;         // when its case ends
  int waiting_jobs = 0;  // that it may run
};

// Where a waiting job stands.
struct Place {
  int position = 0;              // cases ahead of its next one: see Scheduler::QueuePosition
  Window start;                  // of its next case
  double estimated_seconds = 0;  // device time of its cases that have not ended
  bool promoted = false;         // it has waited for the bound: goes before what has not
  std::string reason;            // to wait, as Scheduler::WaitReason
};

struct WaitingJob {
  std::string job;
  std::string owner;
  PriorityClass priority_class = PriorityClass::kInteractive;
  bool hold = false;
  int next_case = 0;
  int waiting_cases = 0;
  int position = 0;  // as Scheduler::QueuePosition
  Window start;
  double estimated_seconds = 0;  // of its waiting cases
  std::string reason;            // as Scheduler::WaitReason
  bool promoted = false;
};

struct OwnerView {
  std::string owner;
  double used_seconds = 0;  // decayed, with what runs at its estimate
  int running_cases = 0;
  int waiting_cases = 0;
};

// Which waiting jobs are looked for.
struct ViewFilter {
  std::string owner;              // empty: of all
  std::set<std::string> devices;  // that one of these may run now, by name; empty: all

  bool all() const { return owner.empty() && devices.empty(); }
};

struct QueueView {
  std::vector<DeviceView> devices;
  std::vector<WaitingJob> waiting;  // in the order in which they would start
  int waiting_jobs = 0;             // all of them
  int waiting_cases = 0;
  std::vector<OwnerView> owners;  // those with something queued or running, least used first
};

// Which rule puts one job before another.
enum class Rule {
  kNone,
  kRunning,      // it runs
  kNext,         // it is the next for its device
  kClass,        // a higher class
  kOwnerUsage,   // the other's owner has used less
  kOwnOrder,     // of the same owner: priority, the shorter one, the earlier one
  kPromoted,     // it has waited for the bound
  kDeviceBusy,   // nobody is before it, the device runs something
  kHeld,         // nobody is before it, the device is lent to somebody
  kUnavailable,  // no device takes it: see WaitReason
};

const char* RuleName(Rule rule);  // "CLASS", "OWNER_USAGE": v1.Explanation.rule

struct Ahead {
  std::string job;
  int next_case = 0;
  std::string owner;
  PriorityClass priority_class = PriorityClass::kInteractive;
  double estimated_seconds = 0;  // of its cases that go first
  Rule rule = Rule::kNone;       // why they do
};

struct Explained {
  // What holds the job itself: of several rules the one that accounts for most of the time ahead.
  Rule rule = Rule::kNone;
  std::string reason;        // kUnavailable: as WaitReason
  std::string device;        // that it runs on or would start on; empty: none
  std::vector<Ahead> ahead;  // nearest first, at most `most`
  int ahead_jobs = 0;
  int position = 0;  // as Scheduler::QueuePosition
  Window start;
  double waiting_since = 0;  // its submission, or the end of its newest case
  double promoted_at = 0;    // when it goes before what has not waited for the bound; 0: never
  double used_seconds = 0;   // by its owner, decayed
};

}  // namespace kbench::scheduler
