// An implementation on a case that is open in the engine, with an instance for each of its operand
// sets: from its creation to its end the operands live. Used from one thread; at most one at a time
// for an engine, which outlives it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kbench/v1/runner.pb.h"
#include "kernels/implementation.h"
#include "worker/engine/kbench_engine.h"

namespace kbench {

struct CaseOptions {
  std::string flush = "clean";
  std::uint64_t seed = 1;
  std::string reference_dir;
  std::int64_t memory_limit_bytes = 0;
  std::int64_t flush_bytes = 0;  // each half of a flush; 0: the engine's default
  int threads = 1;
  bool many_launches = false;  // modes graph and steady: a sample may be more than one launch
  bool rotates = false;        // mode graph
  std::string candidate;       // tried before all others, if it is offered
};

class OpenInstance {
 public:
  // Opens the case in the engine and creates the implementation, with the first of its candidates
  // that can be created. Null: `failure` says why, and nothing is left behind.
  static std::unique_ptr<OpenInstance> Open(kb_engine* engine, const Implementation& implementation,
                                            const Problem& problem, const CaseOptions& options,
                                            v1::RunnerFailure* failure);
  ~OpenInstance();
  OpenInstance(const OpenInstance&) = delete;
  OpenInstance& operator=(const OpenInstance&) = delete;

  kb_engine* engine() const { return engine_; }
  const Instance& instance() const { return *instances_.front(); }
  double create_seconds() const { return create_seconds_; }
  const Implementation& implementation() const { return implementation_; }
  const Problem& problem() const { return problem_; }
  // What the implementation offers, and which one is created; nothing and empty for one that offers
  // none.
  const std::vector<std::string>& candidates() const { return offered_; }
  const std::string& candidate() const { return candidate_; }

  // Creates the next candidate instead. False: there is none, `failure` is the first one's.
  bool CreateNext(v1::RunnerFailure* failure);
  // Creates this candidate instead, or the first other one that can be created.
  bool CreateFrom(const std::string& candidate, v1::RunnerFailure* failure);

  // The kb_launch and its user pointer, for the engine's calls.
  static int Launch(void* user, void* stream);
  // One launch from an idle queue to its end; false: `failure` says why.
  bool Call(double* seconds, v1::RunnerFailure* failure);
  // Turns a status of the engine into a failure, with the implementation's words for its own error.
  void Explain(kb_status status, v1::RunnerFailure* failure) const;

 private:
  OpenInstance(kb_engine* engine, const Implementation& implementation, const Problem& problem,
               int threads);
  bool Create(const std::string& candidate, v1::RunnerFailure* failure);
  bool CreateAll(const DeviceContext& context, v1::RunnerFailure* failure);

  kb_engine* const engine_;
  const Implementation& implementation_;
  const Problem problem_;
  const int threads_;
  const std::vector<std::string> offered_;
  std::vector<std::string> order_;  // in which candidates are tried; one empty word without any
  std::size_t next_ = 0;            // of order_
  std::string candidate_;
  std::vector<std::unique_ptr<Instance>> instances_;  // by operand set; at least one
  double create_seconds_ = 0;
  int launch_error_ = 0;        // of the last launch that failed
  std::size_t failed_set_ = 0;  // whose launch that was
};

}  // namespace kbench
