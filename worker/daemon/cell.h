// One implementation of the running case: its runner, how far it is, and what it has shown. Owned
// by the CaseDriver; used from the case thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kbench/v1/result.pb.h"
#include "kbench/v1/runner.pb.h"
#include "worker/daemon/runner_process.h"
#include "worker/daemon/telemetry_sum.h"
#include "worker/experiment/budget.h"
#include "worker/experiment/records.h"
#include "worker/experiment/stop_rule.h"

namespace kbench {

struct Cell {
  std::string name;
  bool baseline = false;
  // Variants that may stand in this row when this one does not take the case's shape, the best
  // first, and what they stand in for: "cuda/best: why not".
  std::vector<std::string> lower;
  std::string instead_of;

  enum class State {
    kWaiting,   // not prepared yet, or put off to a later group
    kResident,  // prepared in its runner, takes part
    kMeasured,  // all of its rounds and checks are done
    kEnded      // has an outcome that is not OK
  };
  State state = State::kWaiting;
  std::unique_ptr<RunnerProcess> runner;

  // kEnded only.
  v1::Outcome outcome = v1::OUTCOME_UNSPECIFIED;
  std::string reason;
  std::string message;
  double estimate_seconds = 0;

  v1::Prepared prepared;
  v1::Verified verified;  // the worst check so far
  std::vector<std::string> stages;
  double tune_seconds = 0;               // of a choice that was measured in this case; else 0
  double check_seconds = 0;              // wall time of the check before the rounds
  std::vector<double> end_to_end_calls;  // seconds

  experiment::SampleCost cost;
  experiment::CellRecord record;
  experiment::RoundRecord pooled;  // the visits of the round that runs
  experiment::StopState stop = experiment::StopState::kContinue;
  TelemetrySum telemetry;
  int rounds_lost_to_heat = 0;
  int disturbed_visits = 0;  // thrown away because the host disturbed them
  int off_clock_rounds = 0;  // visits thrown away because of an unexplained clock
  bool off_clock = false;    // the last visit was
  double burst_seconds = 0;  // wall time inside bursts
  double duty_seconds = 0;   // of them, with the kernel itself running
  int empty_rounds = 0;      // in a row
  bool restarted = false;
  bool reverified = false;
  bool measured_before = false;  // in an earlier group
  std::string output;            // what the runner printed

  // Device code: where the runner left it and what it is, or what an earlier case of the job sent.
  std::string code_key;  // what says that it is the same code; empty: none was asked for
  std::string code_dir;
  std::vector<v1::CodeFile> code_files;
  std::vector<std::string> sent_code;  // full names of artifacts
  std::string code_note;               // why some is missing
  v1::Profile profile;
  std::string profile_table;

  bool settled() const { return stop != experiment::StopState::kContinue; }
  double launch_seconds() const {
    return cost.device_seconds > 0 ? cost.device_seconds : prepared.estimate_seconds();
  }
};

}  // namespace kbench
