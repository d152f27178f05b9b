// Holds the device for somebody instead of running a case: for its time, until it is cancelled, or
// until its command has ended. Time is the worker's own steady clock, so that a hold ends also
// while the coordinator is away. One object serves one attempt, on the case thread; nothing of the
// worker's own is on the device meanwhile.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "kbench/v1/worker_service.pb.h"
#include "proto/support/process.h"
#include "worker/daemon/cancel.h"
#include "worker/daemon/case_driver.h"
#include "worker/daemon/hold_output.h"

namespace kbench {

// The phase of its progress: the hold has begun.
inline constexpr char kHoldPhase[] = "hold";

struct HoldTimes {
  // From SIGTERM to SIGKILL; also what an attached client has to end its own command in.
  double grace_seconds = 10;
  // Beyond that, for its EndHold to come through.
  double client_seconds = 5;
  double say_seconds = 5;  // between two progress messages without news
};

class HoldDriver {
 public:
  // `program` is the kbench-worker that starts the command (held_command.h).
  HoldDriver(DriverContext context, std::string program, const v1::Assign& assign,
             const CancelToken* cancel, CaseDriver::ProgressFn progress, HoldTimes times = {});
  ~HoldDriver();

  AttemptOutcome Run();

 private:
  absl::Status StartCommand();
  // Until the command has ended, or there is none and the hold is over.
  void Hold();
  // Asks the command to end, and then makes it.
  void Press(double now);
  // Waits for something to happen, at most until `until`.
  void WaitUntil(double now, double until);
  void Say(double now, bool news);
  v1::HoldEnd End() const;
  bool Over(double now) const { return cancel_->cancelled() || now >= end_; }
  double Now() const { return context_.clock->SteadySeconds(); }

  DriverContext context_;
  const std::string program_;
  const v1::Assign& assign_;
  const CancelToken* const cancel_;
  const CaseDriver::ProgressFn progress_;
  const HoldTimes times_;
  const double start_;
  double promised_end_ = 0;  // what the client was told
  double end_ = 0;
  double said_at_ = -1;
  std::string folder_;
  HoldOutput output_;
  std::optional<Process> command_;
  std::optional<ExitStatus> exit_;
  int presses_ = 0;         // 1: SIGTERM was sent, 2: its processes were killed, 3: its group
  double press_again_ = 0;  // steady seconds
};

}  // namespace kbench
