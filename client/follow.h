// Follows a job to its end over WatchJob, across restarts of the coordinator. One thread; an
// Interrupt may end it from another.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "client/backend.h"
#include "client/interrupt.h"
#include "client/job_view.h"

namespace kbench::client {

// A call or stream failed in a way that passes by itself: the coordinator is away or restarting.
bool Passes(const absl::Status& error);

// Told what happens, on the caller's thread.
class JobObserver {
 public:
  virtual ~JobObserver() = default;
  virtual void OnEvent(const kbench::v1::JobEvent& event, const JobView& view) = 0;
  // Once for each case, with its results.
  virtual void OnCaseEnded(const kbench::v1::Job& job, const kbench::v1::CaseStatus& status) = 0;
  virtual void OnReconnecting() = 0;
};

struct FollowOptions {
  double give_up_seconds = 60;  // how long a lost coordinator may stay away
  double first_pause_seconds = 0.1;
  double longest_pause_seconds = 2;
};

struct FollowResult {
  absl::Status status;  // OK also when interrupted
  bool interrupted = false;
  kbench::v1::Job job;  // as last known; ended when `status` is OK and not `interrupted`
};

FollowResult Follow(const Backend& backend, const std::string& job_name,
                    const FollowOptions& options, Interrupt& interrupt, JobObserver& observer);

}  // namespace kbench::client
