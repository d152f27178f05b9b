// One daemon of the local stack. Its pid file is its lock: the daemon inherits the locked file as
// descriptor 3 and holds it as long as it lives, however it dies, so a stale file never looks alive
// and a reused pid is never taken for ours. Thread-safe.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace kbench::client {

struct DaemonSpec {
  std::vector<std::string> argv;  // argv[0] is the path of the program
  std::string pid_path;
  std::string log_path;
};

// A daemon that runs. Owns the pidfd.
class Daemon {
 public:
  Daemon(pid_t pid, int pidfd) : pid_(pid), pidfd_(pidfd) {}
  ~Daemon();
  Daemon(Daemon&& other) noexcept;
  Daemon& operator=(Daemon&&) = delete;

  pid_t pid() const { return pid_; }
  // Waits up to `seconds` for its end.
  bool Ended(double seconds = 0) const;
  // SIGTERM, and SIGKILL to its process group after `grace_seconds`. False when not even that
  // helped.
  bool Stop(double grace_seconds) const;
  // Whether it has a file of this name open, in whatever folder. False once it has ended.
  bool HasOpen(const std::string& file_name) const;

 private:
  pid_t pid_;
  int pidfd_;
};

// The daemon that holds `pid_path`; nothing when nobody does. FAILED_PRECONDITION when the holder
// cannot be proved to be `program` started by us.
absl::StatusOr<std::optional<Daemon>> FindDaemon(const std::string& pid_path,
                                                 const std::string& program);

// Starts it in its own session, with its output appended to the log.
absl::StatusOr<Daemon> StartDaemon(const DaemonSpec& spec);

// The last `count` lines of a file, for an error message.
std::vector<std::string> LastLines(const std::string& path, std::size_t count);

}  // namespace kbench::client
