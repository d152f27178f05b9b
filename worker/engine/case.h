// One case in the engine: its operands (in mode graph several complete sets of them), its
// reference, its checks and its bursts. Owned by the kb_engine; used from one thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/catalog/problem.h"
#include "kernels/reference/checker.h"
#include "worker/engine/burst.h"
#include "worker/engine/device.h"
#include "worker/engine/graph_burst.h"
#include "worker/engine/operands.h"
#include "worker/engine/steady_burst.h"

namespace kbench::engine {

// A kb_case with its words understood.
struct CaseSpec {
  Problem problem;
  FlushKind flush = FlushKind::kClean;
  std::uint64_t seed = 1;
  std::string reference_dir;  // empty: the reference is not shared
  std::int64_t memory_limit_bytes = 0;
  std::int64_t flush_bytes = 0;  // 0: the timeline's default
};

EngineError ParseCase(const kb_case& spec, CaseSpec* out);

class Case {
 public:
  Case(Device& device, CaseSpec spec);

  // Refuses with KB_OUT_OF_MEMORY before anything is allocated when the operands do not fit.
  EngineError Open();
  // One launch, on the next set, from an idle queue to its end; `seconds` is host time.
  EngineError Call(const LaunchCall& call, double* seconds);
  EngineError Verify(int stage, std::uint64_t seed, const LaunchCall& call, kb_check* check);
  EngineError Burst(const kb_burst_spec& spec, const LaunchCall& call, kb_burst_record* record);

  // A second output for trials; `data` is null for a kernel without operands.
  EngineError OpenScratch(void** data);
  void CloseScratch() { scratch_.reset(); }
  // As Burst(), of launches that are not the case's: no gate, one launch a sample, and nothing of
  // it counts for a check.
  EngineError Trial(const kb_burst_spec& spec, const LaunchCall& call, kb_burst_record* record);

  const Problem& problem() const { return spec_.problem; }
  const std::vector<OperandSpec>& specs() const { return specs_; }
  int sets() const { return static_cast<int>(sets_.size()); }
  const Operands& operands(int set) const { return *sets_[static_cast<std::size_t>(set)]; }
  int current_set() const { return current_set_; }
  // Of one sample: 1 except in modes graph and steady, where the first burst finds it.
  int launches_per_sample() const;
  std::string mechanism() const;

 private:
  void PlanBursts();
  EngineError CountSets(std::int64_t free_bytes, int* sets) const;
  EngineError LaunchForCheck(int stage, std::uint64_t seed, const LaunchCall& call);
  EngineError RunBurst(const BurstSpec& spec, const LaunchCall& call, BurstOutcome* outcome);
  // What bursts found since the last check that poisoned the output; true: it failed `check`.
  bool FailForTricks(kb_check* check) const;
  EngineError Judge(kb_check* check);
  EngineError CheckOutput(kb_check* check);

  Device& device_;
  CaseSpec spec_;  // its seed is the one the inputs were filled from last
  const std::vector<OperandSpec> specs_;
  std::vector<std::unique_ptr<Operands>> sets_;  // at least one once it is open
  std::unique_ptr<ScratchOutput> scratch_;
  int current_set_ = 0;
  BurstRunner bursts_;
  std::unique_ptr<OutputGate> gate_;     // null for a kernel without an output
  std::unique_ptr<GraphBurst> graph_;    // in mode graph
  std::unique_ptr<SteadyBurst> steady_;  // in mode steady
  std::uint32_t burst_flags_ = 0;        // of the bursts since the last BEFORE or NEW_SEED
  bool changed_late_ = false;            // likewise
  bool unwritten_ = false;               // likewise
  std::unique_ptr<reference::Reference> reference_;  // of the current seed; null: not needed yet
};

}  // namespace kbench::engine
