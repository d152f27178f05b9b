// --fail-on: when a comparison shall end the process with an exit code. Pure; thread-safe.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "kbench/v1/job.pb.h"
#include "kbench/v1/result.pb.h"

namespace kbench::client {

struct FailOn {
  bool slower = true;  // else faster
  double margin = 0;   // ratio: 0.03
};

// "slower:3%", "faster:0.05"; the margin is above 0 and at most 1. A number
// without % is below 1: "slower:3" would be 300 %.
absl::StatusOr<FailOn> ParseFailOn(const std::string& text);

// kExitRegression when the whole interval lies beyond the margin, kExitOk when it lies whole on
// this side of it, else kExitInconclusive: also without an interval, and where the comparison was
// refused or forced on different keys, and where a finding does not hold up among many.
int FailOnCode(const FailOn& fail_on, const kbench::v1::BaselineComparison& comparison);

struct FailOnVerdict {
  int code = 0;
  std::string sentence;  // for a person; empty when the code is kExitOk
};
// The worst of all rows that have a time and are not the baseline. A row that is not VALID, or
// whose baseline is not, decides nothing; nor does one that was compared with
// none, or a job without any comparison: kExitInconclusive.
FailOnVerdict JudgeJob(const FailOn& fail_on, const kbench::v1::Job& job);

}  // namespace kbench::client
