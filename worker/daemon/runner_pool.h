// The runners of one device. Warm spares (started, hello answered, no device context) make the next
// case start at once; a runner stays with its implementation through the cases of one job. Owned by
// the worker. Take, Keep and DropKept are called by the case thread; refills happen on a thread of
// the pool while no case runs.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "kbench/v1/runner.pb.h"
#include "proto/support/mutex.h"
#include "worker/daemon/runner_process.h"

namespace kbench {

class RunnerPool {
 public:
  struct Options {
    std::vector<RunnerSpec> runners;
    std::string device_kind;  // cpu, cuda: runners of another kind are refused
    int spares = 2;           // of each program
    double hello_seconds = 20;
    // Start the spares at once; otherwise after the first EndCase().
    bool refill_at_once = true;
  };
  enum class Which { kAny, kFresh };  // kFresh: not the one kept

  // Starts one of each program and asks what it can do. FAILED_PRECONDITION names the program that
  // does not start or is of the wrong kind.
  static absl::StatusOr<std::unique_ptr<RunnerPool>> Create(Options options);
  ~RunnerPool();

  // What the runners announced, in order.
  const std::vector<v1::ImplementationInfo>& implementations() const { return implementations_; }
  // The hello of the runner that has the implementation, or nullptr.
  const v1::RunnerHelloReply* HelloOf(const std::string& kernel,
                                      const std::string& implementation) const;

  // How the runner that has the implementation is started, or nullptr.
  const RunnerSpec* SpecOf(const std::string& kernel, const std::string& implementation) const;

  // A runner for the implementation: the one kept for it, else a spare, else a new one. May be
  // called from several threads at once.
  absl::StatusOr<std::unique_ptr<RunnerProcess>> Take(const std::string& kernel,
                                                      const std::string& implementation,
                                                      Which which = Which::kAny);
  // Keeps a sound, finished runner for the next case of the job.
  void Keep(const std::string& implementation, std::unique_ptr<RunnerProcess> runner);
  void DropKept();

  // No spare is started between these: starting a process disturbs a measurement.
  void BeginCase();
  void EndCase();

  int spares() const;

 private:
  struct Program {
    RunnerSpec spec;
    v1::RunnerHelloReply hello;
    std::deque<std::unique_ptr<RunnerProcess>> spares;
  };

  explicit RunnerPool(Options options) : options_(std::move(options)) {}
  absl::StatusOr<std::unique_ptr<RunnerProcess>> StartOne(const RunnerSpec& spec,
                                                          v1::RunnerHelloReply* hello);
  std::size_t ProgramOf(const std::string& kernel, const std::string& implementation) const;
  void RefillLoop();
  Program* NextToRefill() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Options options_;
  std::vector<v1::ImplementationInfo> implementations_;
  std::deque<Program> programs_;  // only `spares` changes after Create(), under mutex_
  CancelToken stopping_;          // wakes a hello that is waited for
  mutable Mutex mutex_;
  CondVar wake_;
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  bool case_running_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<std::string, std::unique_ptr<RunnerProcess>> kept_ ABSL_GUARDED_BY(mutex_);
  std::thread refill_;
};

}  // namespace kbench
