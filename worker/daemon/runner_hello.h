// What a runner says when it is started, and what is made of it where it says nothing good. Used
// from any thread.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "kbench/v1/runner.pb.h"
#include "worker/daemon/cancel.h"
#include "worker/daemon/runner_process.h"

namespace kbench {

// Asks a runner that was just started. DEADLINE_EXCEEDED, CANCELLED or FAILED_PRECONDITION name the
// program and what it said.
absl::Status AskHello(RunnerProcess& runner, const RunnerSpec& spec, double seconds,
                      const CancelToken* cancel, v1::RunnerHelloReply* hello);

// Whether this worker can drive the runner.
absl::Status CheckHello(const RunnerSpec& spec, const std::string& device_kind,
                        const v1::RunnerHelloReply& hello);

// A Python runner's names say their environment, and only those of "default" may be a default
// choice; fills in what follows from that.
absl::Status AdoptPythonNames(const RunnerSpec& spec, v1::RunnerHelloReply* hello);

// Of a Python runner that did not start.
v1::AbsentFramework AbsentBecause(const RunnerSpec& spec, const absl::Status& status);
// Of one that has not answered yet.
v1::AbsentFramework StillStarting(const RunnerSpec& spec);

// "torch (torch211)"
std::string NameOf(const v1::AbsentFramework& absent);

// The line of what a runner printed that says most: the last one, on standard error where there is
// any; of an interpreter that was ended by a signal the innermost call. ASCII, at most 300 bytes.
std::string LastLine(const std::string& output);

}  // namespace kbench
