#include "server/store/store.h"

namespace kbench::store {

bool IsDefaultResult(const kbench::v1::Result& result) {
  const kbench::v1::MeasurementPolicy& policy = result.policy();
  const bool flush = policy.flush().empty() || policy.flush() == "clean";
  const bool target = policy.target_ratio() == 0 || policy.target_ratio() == 0.005;
  return result.outcome() == kbench::v1::OUTCOME_OK && flush && target;
}

bool IsFixture(const kbench::v1::Result& result) {
  return result.implementation().rfind("selftest/", 0) == 0;
}

kbench::v1::JobState ToJobState(scheduler::State state) {
  switch (state) {
    case scheduler::State::kQueued:
      return kbench::v1::JOB_STATE_QUEUED;
    case scheduler::State::kRunning:
      return kbench::v1::JOB_STATE_RUNNING;
    case scheduler::State::kSucceeded:
      return kbench::v1::JOB_STATE_SUCCEEDED;
    case scheduler::State::kFailed:
      return kbench::v1::JOB_STATE_FAILED;
    case scheduler::State::kCancelled:
      return kbench::v1::JOB_STATE_CANCELLED;
    case scheduler::State::kExpired:
      return kbench::v1::JOB_STATE_EXPIRED;
  }
  return kbench::v1::JOB_STATE_UNSPECIFIED;
}

}  // namespace kbench::store
