// One new result, or a few fresh ones together, against a baseline. Pure; thread-safe.
//
// The order is fixed: validity, then equality of environment, then three gates that must all be
// passed for "slower" (or, mirrored, "faster"):
//   relative     the change exceeds max(2 %, 4 x noise, 1.25 x what the slowest tenth exceeds).
//   absolute     it exceeds max(50 ns, 2 x the step of the device's clock).
//   statistical  its chance under the cell's own noise is at most 0.1 % (one-sided Student's t).
// The noise of a difference is the cell's own, times sqrt(variance of the median of the new ones +
// that of the baseline's).
#pragma once

#include <span>
#include <string>

#include "kbench/v1/history_service.pb.h"
#include "server/history/noise.h"

namespace kbench::history {

struct GateOptions {
  // Twice the margin by which two results of one session are told apart (stats::kDefaultMargin).
  double least_ratio = 0.02;
  // Four standard deviations: of 200 normal results 0.6 % exceed it once; a suspicion costs device
  // time, and confirmation must find out all that does.
  double noises = 4;
  double tails = 1.25;
  double chance = 0.001;
  // One and a half steps of an H200's event clock (32 ns); nobody can use less.
  double least_seconds = 50e-9;
  double clock_step_seconds = 0;  // of the device, by its calibration; 0: not known
};

struct GateReading {
  bool valid = false;             // every new result is VALID
  bool same_environment = false;  // and was measured in the baseline's
  // Only then the rest: time over the baseline's, less 1, with its 95 % interval.
  double change = 0;
  double low = 0;
  double high = 0;
  double relative_gate = 0;          // what it must exceed, as a ratio
  double absolute_gate_seconds = 0;  // and in seconds
  double chance = 1;                 // that the noise alone does it
  bool relative = false;
  bool absolute = false;
  bool statistical = false;
  std::string sentence;  // what each gate saw

  bool AllPassed() const {
    return valid && same_environment && relative && absolute && statistical;
  }
  bool Slower() const { return AllPassed() && change > 0; }
  bool Faster() const { return AllPassed() && change < 0; }
};

// `newest` not empty: their median is judged.
GateReading ReadGates(std::span<const v1::HistoryPoint> newest, const v1::Baseline& baseline,
                      const Noise& noise, const GateOptions& options);

}  // namespace kbench::history
