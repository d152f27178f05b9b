#include "server/scheduler/types.h"

namespace kbench::scheduler {

bool IsFinal(State state) { return state != State::kQueued && state != State::kRunning; }

const char* ClassName(PriorityClass priority_class) {
  switch (priority_class) {
    case PriorityClass::kInteractive:
      return "interactive";
    case PriorityClass::kCi:
      return "ci";
    case PriorityClass::kBatch:
      return "batch";
  }
  return "interactive";
}

const char* StateName(State state) {
  switch (state) {
    case State::kQueued:
      return "QUEUED";
    case State::kRunning:
      return "RUNNING";
    case State::kSucceeded:
      return "SUCCEEDED";
    case State::kFailed:
      return "FAILED";
    case State::kCancelled:
      return "CANCELLED";
    case State::kExpired:
      return "EXPIRED";
  }
  return "UNKNOWN";
}

}  // namespace kbench::scheduler
