#include "worker/runner/failure.h"

namespace kbench {

void SetFailure(v1::Outcome outcome, const std::string& reason, const std::string& message,
                v1::RunnerFailure* failure) {
  failure->set_outcome(outcome);
  failure->set_reason(reason);
  failure->set_message(message);
}

void SetEngineFailure(const kb_engine* engine, kb_status status, const std::string& launch_error,
                      v1::RunnerFailure* failure) {
  const std::string message = kb_error(engine);
  switch (status) {
    case KB_OUT_OF_MEMORY:
      SetFailure(v1::OUTCOME_OUT_OF_MEMORY, "OUT_OF_MEMORY", message, failure);
      failure->set_needed_bytes(kb_needed_bytes(engine));
      failure->set_free_bytes(kb_free_bytes(engine));
      return;
    case KB_LAUNCH_FAILED:
      SetFailure(v1::OUTCOME_CRASHED, "LAUNCH_FAILED",
                 launch_error.empty() ? message : "the launch failed: " + launch_error, failure);
      return;
    case KB_DEVICE_ERROR:
      SetFailure(v1::OUTCOME_CRASHED, "DEVICE_FAULT", message, failure);
      failure->set_fatal(true);
      return;
    case KB_TIMEOUT:
      SetFailure(v1::OUTCOME_TIMED_OUT, "BLOCKER_TIMEOUT", message, failure);
      return;
    case KB_NOT_CAPTURABLE:
      SetFailure(v1::OUTCOME_UNSUPPORTED, "NOT_CAPTURABLE", message, failure);
      return;
    case KB_IO_ERROR:
      SetFailure(v1::OUTCOME_INFRA, "ENGINE_IO", message, failure);
      return;
    case KB_INVALID_ARGUMENT:
    case KB_OK:
      break;
  }
  SetFailure(v1::OUTCOME_INFRA, "BAD_REQUEST", message, failure);
}

void SetImplementationFailure(const ImplementationError& error, v1::RunnerFailure* failure) {
  using Kind = ImplementationError::Kind;
  switch (error.kind) {
    case Kind::kUnsupported:
      return SetFailure(v1::OUTCOME_UNSUPPORTED, "UNSUPPORTED_PROBLEM", error.message, failure);
    case Kind::kOutOfMemory:
      SetFailure(v1::OUTCOME_OUT_OF_MEMORY, "OUT_OF_MEMORY", error.message, failure);
      failure->set_needed_bytes(error.needed_bytes);
      return;
    case Kind::kCompileError:
      return SetFailure(v1::OUTCOME_COMPILE_ERROR, "COMPILE_ERROR", error.message, failure);
    case Kind::kDeviceError:
      return SetFailure(v1::OUTCOME_CRASHED, "DEVICE_FAULT", error.message, failure);
  }
}

}  // namespace kbench
