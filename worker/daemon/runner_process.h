// One runner: a child process in its own group that answers one request at a time. Whatever it does
// (crash, hang, nonsense on the wire, floods on stderr) comes back as an outcome. Owned by the
// runner pool or the case that uses it; used from one thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kbench/v1/runner.pb.h"
#include "kernels/catalog/expected.h"
#include "proto/support/process.h"
#include "worker/daemon/cancel.h"
#include "worker/daemon/capped_log.h"

namespace kbench {

struct RunnerSpec {
  std::string program;
  std::vector<std::string> args;
  std::map<std::string, std::string> env;
  // Of a Python runner, which may fail to start without failing the worker; else empty.
  std::string framework = {};
  std::string environment = {};
  double hello_seconds = 0;  // how long its hello may take; 0: the pool's default

  bool python() const { return !framework.empty(); }
};

// Why a request got no good answer.
struct RunnerError {
  v1::Outcome outcome = v1::OUTCOME_CRASHED;
  std::string reason;   // UPPER_SNAKE
  std::string message;  // one plain sentence
  double estimate_seconds = 0;
  // True: the process is gone or not to be trusted, and has been killed.
  bool lost = false;
};

class RunnerProcess {
 public:
  static absl::StatusOr<std::unique_ptr<RunnerProcess>> Start(const RunnerSpec& spec);
  ~RunnerProcess();
  RunnerProcess(const RunnerProcess&) = delete;
  RunnerProcess& operator=(const RunnerProcess&) = delete;

  // Sends the request (its id is set here) and waits for the reply. `phase` names the step in
  // messages: "prepare". After `seconds` without a reply the process is killed: TIMED_OUT. A
  // cancelled token kills it too: CANCELLED. `cancel` may be null.
  Expected<v1::RunnerReply, RunnerError> Call(v1::RunnerRequest request, double seconds,
                                              const std::string& phase, const CancelToken* cancel);

  // Kills the whole group and reaps. Idempotent.
  void Kill();
  bool alive() const { return !dead_; }
  // Looks whether the process has ended by itself meanwhile.
  bool Ended() const;
  int pid() const { return process_.pid; }
  const std::string& program() const { return program_; }

  // What it printed since the last call.
  std::string TakeOutput();

 private:
  RunnerProcess(std::string program, Process process, int request_fd, int reply_fd, int out_fd,
                int err_fd);
  // Sends the frame, waits for a full line.
  std::optional<RunnerError> Exchange(const std::string& frame, double seconds,
                                      const std::string& phase, const CancelToken* cancel,
                                      std::string* line);
  std::optional<RunnerError> Pump(std::string* outgoing, double seconds, const std::string& phase,
                                  const CancelToken* cancel, bool* timed_out);
  std::optional<RunnerError> ReadReplies(const std::string& phase);
  void DrainOutput();
  RunnerError Lost(v1::Outcome outcome, std::string reason, std::string message);
  RunnerError Ended(const std::string& phase);

  std::string program_;
  Process process_;
  int request_fd_;
  int reply_fd_;
  int out_fd_;
  int err_fd_;
  bool dead_ = false;
  bool eof_ = false;
  std::uint64_t next_id_ = 1;
  std::string incoming_;
  CappedLog out_;
  CappedLog err_;
};

// "SIGSEGV" for 11.
std::string SignalName(int signal);

}  // namespace kbench
