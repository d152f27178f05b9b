#include "worker/runner/failure.h"

namespace kbench {
namespace {

std::string BytesText(std::int64_t bytes) {
  return bytes > 0 ? std::to_string(bytes) + " bytes" : "unknown";
}

// Whether the message names both numbers already.
bool Names(const std::string& message, std::int64_t needed_bytes, std::int64_t free_bytes) {
  return needed_bytes > 0 && free_bytes > 0 &&
         message.find(" " + std::to_string(needed_bytes) + " bytes") != std::string::npos &&
         message.find(std::to_string(free_bytes)) != std::string::npos;
}

// The only way to OUT_OF_MEMORY: what was needed and what was free are in the text whoever failed,
// for the text is what reaches a person. 0: unknown.
void SetOutOfMemory(const std::string& message, std::int64_t needed_bytes, std::int64_t free_bytes,
                    v1::RunnerFailure* failure) {
  const std::string numbers =
      " (needed: " + BytesText(needed_bytes) + "; free: " + BytesText(free_bytes) + ")";
  SetFailure(v1::OUTCOME_OUT_OF_MEMORY, "OUT_OF_MEMORY",
             Names(message, needed_bytes, free_bytes) ? message : message + numbers, failure);
  failure->set_needed_bytes(needed_bytes);
  failure->set_free_bytes(free_bytes);
}

}  // namespace

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
      return SetOutOfMemory(message, kb_needed_bytes(engine), kb_free_bytes(engine), failure);
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

void SetImplementationFailure(const ImplementationError& error, std::int64_t free_bytes,
                              v1::RunnerFailure* failure) {
  using Kind = ImplementationError::Kind;
  switch (error.kind) {
    case Kind::kUnsupported:
      return SetFailure(v1::OUTCOME_UNSUPPORTED, "UNSUPPORTED_PROBLEM", error.message, failure);
    case Kind::kOutOfMemory:
      return SetOutOfMemory(error.message, error.needed_bytes, free_bytes, failure);
    case Kind::kCompileError:
      return SetFailure(v1::OUTCOME_COMPILE_ERROR, "COMPILE_ERROR", error.message, failure);
    case Kind::kDeviceError:
      return SetFailure(v1::OUTCOME_CRASHED, "DEVICE_FAULT", error.message, failure);
  }
}

}  // namespace kbench
