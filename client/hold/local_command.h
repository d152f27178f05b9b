// The command that `with` runs on this machine: a child in this process's own group, so that the
// terminal, its signals and the shell's job control reach it as if it had been started by hand.
// Everything it leaves behind becomes a child of this process (a subreaper), and can be ended with
// it. One at a time; thread-safe where it says so.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/support/mutex.h"

namespace kbench::client {

// Whether a program of this name can be found, as a shell would look for it.
bool ProgramExists(const std::string& name);

class LocalCommand {
 public:
  // Starts it with these variables on top of the environment, on these cores (empty: those of this
  // process). NOT_FOUND: there is no such program; PERMISSION_DENIED: it cannot be run. `ended` is
  // called once, from a thread of its own.
  static absl::StatusOr<std::unique_ptr<LocalCommand>> Start(
      const std::vector<std::string>& words, const std::map<std::string, std::string>& variables,
      const std::vector<int>& cpus, std::function<void()> ended);
  // Kills what is still there.
  ~LocalCommand();

  // Its exit code, 128 + the signal that ended it; -1 while it runs. Thread-safe.
  int code() const;
  // To the command alone. Thread-safe.
  void Signal(int signal);
  // SIGTERM to it and all that it started.
  void Terminate();
  // SIGKILL to the same; waits until they are gone.
  void Kill();

 private:
  LocalCommand(pid_t pid, std::vector<pid_t> others, std::function<void()> ended);
  void Wait();

  const pid_t pid_;
  const std::vector<pid_t> others_;  // children that this process had before
  const std::function<void()> ended_;
  mutable Mutex mutex_;
  int code_ ABSL_GUARDED_BY(mutex_) = -1;
  std::thread waiter_;
};

}  // namespace kbench::client
