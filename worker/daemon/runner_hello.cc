#include "worker/daemon/runner_hello.h"

#include <algorithm>
#include <sstream>

#include "fmt/format.h"
#include "worker/daemon/worker_config.h"

namespace kbench {
namespace {

constexpr int kProtocolVersion = 1;
constexpr std::size_t kMostLineBytes = 300;
// Python's own words when it is ended by a signal; what follows the calls says nothing.
constexpr char kCallsFollow[] = "Current thread ";

// "the runner /x/kbench-runner", "the Python runner of torch (/x/python)".
std::string Subject(const RunnerSpec& spec) {
  if (!spec.python()) return "the runner " + spec.program;
  return fmt::format("the Python runner of {} ({})", spec.framework, spec.program);
}

absl::Status Wrong(const RunnerSpec& spec, const std::string& what) {
  return absl::FailedPreconditionError(Subject(spec) + " " + what);
}

// A Python traceback ends in the line that says what was wrong.
std::string WhatItSaid(const RunnerSpec& spec, std::string output) {
  if (spec.python()) return LastLine(output);
  std::replace(output.begin(), output.end(), '\n', ' ');
  return output;
}

}  // namespace

std::string LastLine(const std::string& output) {
  std::istringstream lines(output);
  std::string last;
  bool calls = false;  // the next line is the innermost call of a crashed interpreter
  for (std::string line; std::getline(lines, line);) {
    const bool heading = line == "--- stdout" || line == "--- stderr";
    if (heading || line.find_first_not_of(" \t\r") == std::string::npos) continue;
    last = line.substr(line.find_first_not_of(" \t"));
    if (calls) break;
    calls = line.rfind(kCallsFollow, 0) == 0;
  }
  // A message is UTF-8, which a crashed process need not have printed.
  for (char& c : last) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < ' ' || byte >= 127) c = byte < ' ' ? ' ' : '?';
  }
  if (last.size() > kMostLineBytes) last = last.substr(0, kMostLineBytes) + "...";
  return last;
}

absl::Status AskHello(RunnerProcess& runner, const RunnerSpec& spec, double seconds,
                      const CancelToken* cancel, v1::RunnerHelloReply* hello) {
  v1::RunnerRequest request;
  request.mutable_hello();
  auto reply = runner.Call(std::move(request), seconds, "hello", cancel);
  if (reply.ok()) {
    *hello = std::move(*reply->mutable_hello());
    return absl::OkStatus();
  }
  // One that failed by its own word lives on; it must not.
  runner.Kill();
  const std::string said = WhatItSaid(spec, runner.TakeOutput());
  const std::string message = Subject(spec) + " does not start: " + reply.error().message +
                              (said.empty() ? "" : "; it said: " + said);
  switch (reply.error().outcome) {
    case v1::OUTCOME_CANCELLED:
      return absl::CancelledError(message);
    case v1::OUTCOME_TIMED_OUT:
      return absl::DeadlineExceededError(message);
    default:
      return absl::FailedPreconditionError(message);
  }
}

absl::Status CheckHello(const RunnerSpec& spec, const std::string& device_kind,
                        const v1::RunnerHelloReply& hello) {
  if (hello.protocol_version() != kProtocolVersion) {
    return Wrong(spec, fmt::format("speaks protocol {}, this worker speaks {}",
                                   hello.protocol_version(), kProtocolVersion));
  }
  if (hello.device_kind() != device_kind) {
    return Wrong(spec,
                 fmt::format("drives '{}', this device is '{}'", hello.device_kind(), device_kind));
  }
  return absl::OkStatus();
}

absl::Status AdoptPythonNames(const RunnerSpec& spec, v1::RunnerHelloReply* hello) {
  const bool is_default = spec.environment == kDefaultEnvironment;
  const std::string suffix = is_default ? "" : "@" + spec.environment;
  for (v1::ImplementationInfo& info : *hello->mutable_implementations()) {
    const std::size_t at = info.name().find('@');
    const std::string found = at == std::string::npos ? "" : info.name().substr(at);
    if (found != suffix) {
      return Wrong(spec, fmt::format("offers '{}', whose name should end in '{}'", info.name(),
                                     is_default ? info.name().substr(0, at) : suffix));
    }
    info.set_environment(spec.environment);
    if (!is_default) info.set_default_choice(false);
  }
  for (v1::AbsentFramework& absent : *hello->mutable_absent()) {
    if (absent.framework().empty()) absent.set_framework(spec.framework);
    absent.set_environment(spec.environment);
    absent.set_starting(false);
  }
  if (hello->implementations().empty() && hello->absent().empty()) {
    return Wrong(spec, "offers no implementation and does not say why");
  }
  return absl::OkStatus();
}

v1::AbsentFramework AbsentBecause(const RunnerSpec& spec, const absl::Status& status) {
  v1::AbsentFramework absent;
  absent.set_framework(spec.framework);
  absent.set_environment(spec.environment);
  absent.set_message(std::string(status.message()));
  return absent;
}

v1::AbsentFramework StillStarting(const RunnerSpec& spec) {
  v1::AbsentFramework absent;
  absent.set_framework(spec.framework);
  absent.set_environment(spec.environment);
  absent.set_message("its runner is being started");
  absent.set_starting(true);
  return absent;
}

std::string NameOf(const v1::AbsentFramework& absent) {
  return fmt::format("{} ({})", absent.framework(), absent.environment());
}

}  // namespace kbench
