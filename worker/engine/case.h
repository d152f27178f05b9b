// One case in the engine: its operands, its reference, its checks and its bursts. Owned by the
// kb_engine; used from one thread.
#pragma once

#include <memory>
#include <string>

#include "kernels/catalog/problem.h"
#include "kernels/reference/checker.h"
#include "worker/engine/burst.h"
#include "worker/engine/device.h"
#include "worker/engine/operands.h"

namespace kbench::engine {

// A kb_case with its words understood.
struct CaseSpec {
  Problem problem;
  FlushKind flush = FlushKind::kClean;
  std::uint64_t seed = 1;
  std::string reference_dir;  // empty: the reference is not shared
  std::int64_t memory_limit_bytes = 0;
};

EngineError ParseCase(const kb_case& spec, CaseSpec* out);

class Case {
 public:
  Case(Device& device, CaseSpec spec);

  // Refuses with KB_OUT_OF_MEMORY before anything is allocated when the operands do not fit.
  EngineError Open();
  // One launch from an idle queue to its end; `seconds` is host time.
  EngineError Call(const LaunchCall& call, double* seconds);
  EngineError Verify(int stage, std::uint64_t seed, const LaunchCall& call, kb_check* check);
  EngineError Burst(const kb_burst_spec& spec, const LaunchCall& call, kb_burst_record* record);

  const Problem& problem() const { return spec_.problem; }
  const Operands& operands() const { return operands_; }

 private:
  EngineError Judge(kb_check* check);
  EngineError CheckOutput(kb_check* check);

  Device& device_;
  CaseSpec spec_;  // its seed is the one the inputs were filled from last
  Operands operands_;
  BurstRunner bursts_;
  std::unique_ptr<reference::Reference> reference_;  // of the current seed; null: not needed yet
};

}  // namespace kbench::engine
