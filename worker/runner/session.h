// The runner's side of the frame protocol: one request in, one reply out, state kept between them.
// Uses the engine through its C ABI alone and implementations through the table it is given, so the
// CPU and the CUDA runner share it. Used from one thread; the engine is opened at the first
// Prepare, because a spare must hold no CUDA context.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kbench/v1/runner.pb.h"
#include "kernels/implementation.h"
#include "worker/engine/kbench_engine.h"
#include "worker/runner/prepared_case.h"

namespace kbench {

// What a runner program is. The implementations outlive the session.
struct RunnerIdentity {
  std::string name;    // kbench-runner, kbench-runner-cuda
  std::string device;  // cpu, cuda: what kb_open gets
  int threads = 1;
  std::vector<const Implementation*> implementations;
  std::map<std::string, std::string> libraries;  // "onednn" -> "3.0.0"
  // Begins and ends what a profiler around this program looks at; null where none could.
  std::function<void(bool begins)> profiler_range{};
};

class Session {
 public:
  explicit Session(RunnerIdentity identity);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Never throws. Every request gets a reply with its id.
  v1::RunnerReply Handle(const v1::RunnerRequest& request);
  // True once the device's context is poisoned: the process must end after the reply.
  bool fatal() const { return fatal_; }

 private:
  void Dispatch(const v1::RunnerRequest& request, v1::RunnerReply* reply);
  void Hello(v1::RunnerHelloReply* reply) const;
  void Prepare(const v1::Prepare& request, v1::RunnerReply* reply);
  void Calibrate(v1::RunnerReply* reply);
  void Collect(const v1::CollectCode& request, v1::RunnerReply* reply);
  bool ProfileLaunch(PreparedCase* prepared, v1::RunnerFailure* failure);
  bool OpenEngine(v1::RunnerFailure* failure);
  // The prepared case, or null and the failure BAD_STATE in the reply.
  PreparedCase* NeedCase(const char* request, v1::RunnerReply* reply);

  const RunnerIdentity identity_;
  kb_engine* engine_ = nullptr;
  std::unique_ptr<PreparedCase> prepared_;
  bool fatal_ = false;
};

// A failure frame for what could not be understood, with id 0.
v1::RunnerReply BadFrame(const std::string& message);

}  // namespace kbench
