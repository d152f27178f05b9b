// The queue as the policy sees it, for people: Scheduler::View and Scheduler::Explain fill these.
// Plain values. Times are seconds on the scheduler's clock.
#pragma once

#include <optional>
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

struct WaitingJob {
  std::string job;
  int next_case = 0;
  int waiting_cases = 0;
  int position = 0;  // as Scheduler::QueuePosition
  Window start;
  double estimated_seconds = 0;  // of its waiting cases
  std::string reason;            // as Scheduler::WaitReason
};

struct OwnerView {
  std::string owner;
  double used_seconds = 0;  // decayed, with what runs at its estimate
  int running_cases = 0;
  int waiting_cases = 0;
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
  kUnavailable,  // no device takes it: see WaitReason
};

const char* RuleName(Rule rule);  // "CLASS", "OWNER_USAGE": v1.Explanation.rule

struct Ahead {
  std::string job;
  int next_case = 0;
  double estimated_seconds = 0;
  Rule rule = Rule::kNone;  // why it goes first
};

struct Explained {
  Rule rule = Rule::kNone;   // what holds the job itself
  std::string reason;        // kUnavailable: as WaitReason
  std::string device;        // that it runs on or would start on; empty: none
  std::vector<Ahead> ahead;  // nearest first, at most `most`
  int ahead_jobs = 0;
  Window start;
};

}  // namespace kbench::scheduler
