// Child processes without fork: posix_spawn from one permanent thread, because a gRPC process must
// not fork, and because a child's parent-death signal fires when the thread that spawned it ends.
// Thread-safe.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace kbench {

struct ProcessSpec {
  std::vector<std::string> argv = {};           // argv[0] is a path
  std::map<std::string, std::string> env = {};  // set on top of (or instead of) the parent's
  std::vector<std::string> unset_env = {};
  // Descriptors of the parent to place at 0, 1, 2, ... of the child; -1: /dev/null. All others are
  // closed.
  std::vector<int> descriptors = {-1, -1, -1};
  bool new_session = false;  // setsid, for daemons; otherwise the child leads its own process group
};

struct Process {
  pid_t pid = -1;
  int pidfd = -1;  // becomes readable when the process has ended; owned by the caller
};

absl::StatusOr<Process> Spawn(const ProcessSpec& spec);

struct ExitStatus {
  bool exited = false;           // false: still running
  int code = 0;                  // exit code, or 128 + signal
  int signal = 0;                // the signal that ended it, or 0
  std::string ToString() const;  // "exit code 3", "signal 11 (Segmentation fault)"
};

// Waits up to `seconds` for the end (0: only looks), reaps.
ExitStatus WaitProcess(const Process& process, double seconds);
// SIGTERM to the process group, SIGKILL after `grace_seconds`, reaps. Safe when it has ended
// already.
ExitStatus KillProcessGroup(const Process& process, double grace_seconds);

// For the child's main(): die with the thread that spawned us (PR_SET_PDEATHSIG), no core files.
void DieWithParent(pid_t expected_parent);

}  // namespace kbench
