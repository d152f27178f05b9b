// From asking for a device to having it: submits the hold, waits its turn, and says when it begins.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "client/command.h"
#include "kbench/v1/device.pb.h"
#include "kbench/v1/job.pb.h"

namespace kbench::client {

struct Turn {
  // Not 0: it came to nothing, and the reason has been told.
  int code = 0;
  bool begun =
      false;  // false with code 0: the job has ended already (a short command at the worker)
  kbench::v1::Job job;
  double left_seconds = 0;   // of its time
  double lapse_seconds = 0;  // how often the coordinator wants to be told that we are there
};

// What `with` and `hold` are asked for on the command line.
struct HoldOptions {
  std::string device;
  std::string time;           // "30m"
  std::string queue_timeout;  // empty: none

  void Declare(Arguments& arguments);
  // A usage error names the option.
  absl::StatusOr<kbench::v1::JobSpec> Spec() const;
};

// Submits and waits. Ctrl-C gives up the wait: the job is cancelled.
Turn TakeTurn(Context& context, const Backend& backend, kbench::v1::JobSpec spec);

// "gpu0 on host x is yours until 14:32 (CUDA_VISIBLE_DEVICES=GPU-...)"
std::string BegunText(const Turn& turn);

// The job's only case.
const kbench::v1::CaseStatus& PlaceOf(const kbench::v1::Job& job);

// Tells the coordinator that the hold is done; tries for a few seconds. Complains where it cannot.
void EndHold(Context& context, const Backend& backend, const std::string& job, int exit_code);

// Why a hold that was begun is lost, told on stderr: 7 when it was cancelled, else 5.
int ExplainLoss(Context& context, const Backend& backend, const std::string& job);

// "3 min", "45 s": time that is left.
std::string LeftText(double seconds);

}  // namespace kbench::client
