#include "client/exit_code.h"

#include <algorithm>
#include <map>
#include <string>

#include "client/implementation_name.h"
#include "proto/support/error.h"

namespace kbench::client {
namespace {

using kbench::v1::CaseStatus;
using kbench::v1::Job;
using kbench::v1::Result;

// Higher is worse.
int Badness(int code) {
  switch (code) {
    case kExitInfrastructure:
      return 7;
    case kExitCancelled:
      return 6;
    case kExitBadOutcome:
      return 5;
    case kExitTimedOut:
      return 4;
    case kExitRegression:
      return 3;
    case kExitSuspect:
      return 2;
    case kExitInconclusive:
      return 1;
    default:
      return 0;
  }
}

bool DidNotRun(const Result& result) {
  return result.outcome() == kbench::v1::OUTCOME_UNSUPPORTED ||
         result.outcome() == kbench::v1::OUTCOME_SKIPPED;
}

// Whether something asked for by name did not run at all in this case, in one of its environments.
bool AskedForAndMissing(const Job& job, const CaseStatus& status) {
  for (const std::string& asked : job.spec().implementations()) {
    std::map<std::string, bool> ran;  // by environment
    for (const Result& result : status.results()) {
      const std::string environment = EnvironmentOf(result.implementation());
      const bool there = EnvironmentOf(asked).empty() || EnvironmentOf(asked) == environment;
      if (!there || !IsOrHas(BaseOf(asked), result.implementation())) continue;
      ran[environment] = ran[environment] || !DidNotRun(result);
    }
    for (const auto& [environment, one] : ran) {
      if (!one) return true;
    }
  }
  return false;
}

// The case itself was asked for, and nothing was measured.
bool NothingRan(const CaseStatus& status) {
  return status.results_size() > 0 &&
         std::all_of(status.results().begin(), status.results().end(), DidNotRun);
}

int ExitCodeOfResult(const Result& result) {
  switch (result.outcome()) {
    case kbench::v1::OUTCOME_OK:
      return result.verdict() == kbench::v1::VERDICT_VALID ? kExitOk : kExitSuspect;
    case kbench::v1::OUTCOME_UNSUPPORTED:
    case kbench::v1::OUTCOME_SKIPPED:
      return kExitOk;
    case kbench::v1::OUTCOME_TIMED_OUT:
      return kExitTimedOut;
    case kbench::v1::OUTCOME_CANCELLED:
      return kExitCancelled;
    case kbench::v1::OUTCOME_WRONG_RESULT:
    case kbench::v1::OUTCOME_CRASHED:
    case kbench::v1::OUTCOME_OUT_OF_MEMORY:
    case kbench::v1::OUTCOME_COMPILE_ERROR:
      return kExitBadOutcome;
    default:
      return kExitInfrastructure;
  }
}

int ExitCodeOfState(kbench::v1::JobState state) {
  switch (state) {
    case kbench::v1::JOB_STATE_SUCCEEDED:
      return kExitOk;
    case kbench::v1::JOB_STATE_CANCELLED:
      return kExitCancelled;
    case kbench::v1::JOB_STATE_EXPIRED:
      return kExitTimedOut;
    default:
      return kExitInfrastructure;
  }
}

}  // namespace

int WorseExitCode(int a, int b) { return Badness(b) > Badness(a) ? b : a; }

int ExitCodeOf(const Job& job) {
  int code = ExitCodeOfState(job.state());
  for (const CaseStatus& status : job.cases()) {
    code = WorseExitCode(code, ExitCodeOfState(status.state()));
    if (AskedForAndMissing(job, status) || NothingRan(status))
      code = WorseExitCode(code, kExitBadOutcome);
    for (const Result& result : status.results())
      code = WorseExitCode(code, ExitCodeOfResult(result));
  }
  return code;
}

int ExitCodeOf(const absl::Status& status) {
  if (status.ok()) return kExitOk;
  const ErrorDetails details = DetailsOf(status);
  if (details.retry_after_seconds > 0) return kExitTryAgain;
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kOutOfRange:
      return kExitUsage;
    case absl::StatusCode::kResourceExhausted:
      // Without a time to come back it will never be taken: too long a job, say.
      return details.reason.empty() ? kExitTryAgain : kExitUsage;
    case absl::StatusCode::kCancelled:
      return kExitCancelled;
    default:
      return kExitInfrastructure;
  }
}

}  // namespace kbench::client
