// The runners of one device. Warm spares (started, hello answered, no device context) make the next
// case start at once; a runner stays with its implementation through the cases of one job. Owned by
// the worker. Complete, Take, Keep and DropKept are called by the case thread (Take also by threads
// that it waits for); refills happen on a thread of the pool while no case runs.
//
// Python runners take seconds to import their framework, and may be absent: they start beside the
// others, Complete() waits for them, and one that does not come is an AbsentFramework, never an
// error.
#pragma once

#include <deque>
#include <limits>
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
    std::vector<v1::AbsentFramework> absent = {};  // known without starting anything
    std::string device_kind;                       // cpu, cuda: runners of another kind are refused
    int spares = 2;                                // of each program; of a Python one at most 1
    double hello_seconds = 20;
    // Start the spares at once; otherwise after the first EndCase().
    bool refill_at_once = true;
    // Without a case before the spare of a Python runner is started: its import would reach into
    // the job's next case.
    double python_idle_seconds = 1;
  };
  enum class Which { kAny, kFresh };  // kFresh: not the one kept
  // Of who takes a runner that may have to be started first.
  struct Patience {
    double seconds = std::numeric_limits<double>::infinity();
    const CancelToken* cancel = nullptr;
  };

  // Starts one of each program, all at the same time, and asks what it can do; does not wait for
  // Python runners. FAILED_PRECONDITION names the program that does not start or is of the wrong
  // kind.
  static absl::StatusOr<std::unique_ptr<RunnerPool>> Create(Options options);
  ~RunnerPool();

  // Waits until every Python runner has said what it can do, or is given up. Call it before the
  // first case, once. False: `cancel` came first.
  bool Complete(const CancelToken& cancel);

  // What the runners announced, in order: at first without the Python ones.
  const std::vector<v1::ImplementationInfo>& implementations() const { return implementations_; }
  // What is not there, or not yet.
  std::vector<v1::AbsentFramework> absent() const;
  // Why the implementation's framework is not there ("torch (torch211) is absent: ..."); empty
  // where that is not the reason.
  std::string WhyAbsent(const std::string& implementation) const;

  // The hello of the runner that has the implementation, or nullptr.
  const v1::RunnerHelloReply* HelloOf(const std::string& kernel,
                                      const std::string& implementation) const;

  // How the runner that has the implementation is started, or nullptr.
  const RunnerSpec* SpecOf(const std::string& kernel, const std::string& implementation) const;

  // A runner for the implementation: the one kept for it, else a spare, else a new one. May be
  // called from several threads at once.
  absl::StatusOr<std::unique_ptr<RunnerProcess>> Take(const std::string& kernel,
                                                      const std::string& implementation,
                                                      Which which, const Patience& patience);
  absl::StatusOr<std::unique_ptr<RunnerProcess>> Take(const std::string& kernel,
                                                      const std::string& implementation,
                                                      Which which = Which::kAny) {
    return Take(kernel, implementation, which, Patience());
  }
  // Keeps a sound, finished runner for the next case of the job.
  void Keep(const std::string& implementation, std::unique_ptr<RunnerProcess> runner);
  void DropKept();

  // No spare is started between these: starting a process disturbs a measurement. A Python runner
  // that is being started is ended, and started again afterwards.
  void BeginCase();
  void EndCase();

  int spares() const;

 private:
  struct Program {
    RunnerSpec spec;
    v1::RunnerHelloReply hello = {};
    std::deque<std::unique_ptr<RunnerProcess>> spares = {};
    bool usable = false;     // it has answered, and has implementations
    double retry_at = 0;     // no refill before, steady seconds
    double retry_after = 0;  // the wait after its latest failure
  };
  // The first runner of a Python program, on a thread of its own.
  struct Beginning {
    std::size_t program = 0;
    std::unique_ptr<RunnerProcess> runner = {};
    absl::Status status = absl::OkStatus();
    v1::RunnerHelloReply hello = {};
    std::thread thread = {};
  };

  explicit RunnerPool(Options options) : options_(std::move(options)) {}
  absl::Status StartAll();
  void BeginPython(std::size_t program, std::unique_ptr<RunnerProcess> runner);
  void TakeOver(Beginning& beginning);
  absl::StatusOr<std::unique_ptr<RunnerProcess>> StartOne(const RunnerSpec& spec,
                                                          const Patience& patience) const;
  double HelloSeconds(const RunnerSpec& spec) const;
  std::size_t ProgramOf(const std::string& kernel, const std::string& implementation) const;
  void RefillLoop();
  void Refill(Program* program) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // In how many seconds the program wants a spare: 0 now, infinity not before something changes.
  double RefillIn(const Program& program, double now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Options options_;
  std::vector<v1::ImplementationInfo> implementations_;
  // After Complete() only the spares and the times of refills change, under mutex_.
  std::deque<Program> programs_;
  std::deque<Beginning> beginnings_;  // not yet taken over
  CancelToken stopping_;              // wakes a hello that is waited for
  mutable Mutex mutex_;
  CondVar wake_;
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  bool case_running_ ABSL_GUARDED_BY(mutex_) = false;
  double idle_since_ ABSL_GUARDED_BY(mutex_) = 0;
  std::size_t answered_ ABSL_GUARDED_BY(mutex_) = 0;  // of beginnings_
  std::vector<v1::AbsentFramework> absent_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<CancelToken> python_refill_ ABSL_GUARDED_BY(mutex_);  // under way
  std::map<std::string, std::unique_ptr<RunnerProcess>> kept_ ABSL_GUARDED_BY(mutex_);
  std::thread refill_;
};

}  // namespace kbench
