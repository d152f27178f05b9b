// Failure frames: the engine's and the implementations' errors in the words of the outcome table.
// Stateless; thread-safe.
#pragma once

#include <cstdint>
#include <string>

#include "kbench/v1/runner.pb.h"
#include "kernels/implementation.h"
#include "worker/engine/kbench_engine.h"

namespace kbench {

void SetFailure(v1::Outcome outcome, const std::string& reason, const std::string& message,
                v1::RunnerFailure* failure);

// Of the engine's last call, which returned `status`. `launch_error` explains KB_LAUNCH_FAILED and
// may be empty.
void SetEngineFailure(const kb_engine* engine, kb_status status, const std::string& launch_error,
                      v1::RunnerFailure* failure);

// `free_bytes`: of the device when the implementation failed; 0: unknown.
void SetImplementationFailure(const ImplementationError& error, std::int64_t free_bytes,
                              v1::RunnerFailure* failure);

}  // namespace kbench
