#include <fmt/format.h>

#include "client/errors.h"
#include "client/exit_code.h"
#include "client/stack/daemon.h"
#include "client/stack/layout.h"
#include "client/stack/local_stack.h"

namespace kbench::client {
namespace {

struct Outcome {
  bool found = false;
  bool failed = false;
};

Outcome StopOne(Io& io, const std::string& what, const std::string& pid_path,
                const std::string& program, double grace_seconds) {
  auto running = FindDaemon(pid_path, program);
  if (!running.ok()) {
    ReportError(io, running.status());
    return {true, true};
  }
  if (!running->has_value()) return {};
  const Daemon& daemon = **running;
  if (!daemon.Stop(grace_seconds)) {
    io.err << fmt::format("kbench-client: {} (pid {}) does not end, not even by SIGKILL\n", what,
                          daemon.pid());
    return {true, true};
  }
  io.out << fmt::format("{} stopped (pid {})\n", what, daemon.pid()) << std::flush;
  return {true, false};
}

}  // namespace

int StopStack(Context& context, double grace_seconds) {
  bool found = false;
  bool failed = false;
  const auto add = [&](Outcome outcome) {
    found = found || outcome.found;
    failed = failed || outcome.failed;
  };
  // Workers first: what they have measured still finds the coordinator.
  for (const auto& [device, pid_path] : WorkerPidPaths()) {
    add(StopOne(context.io, "worker of " + device, pid_path, kWorkerProgram, grace_seconds));
  }
  add(StopOne(context.io, "coordinator", ServerPidPath(), kServerProgram, grace_seconds));
  if (!found) context.io.out << "nothing runs\n";
  return failed ? kExitInfrastructure : kExitOk;
}

}  // namespace kbench::client
