// Mode graph: a sample is one replay of a graph of many launches that rotate through complete
// operand sets, timed by marks outside of the graph behind a blocked queue and divided by the
// launches. So a launch is cold without a flush, and one shorter than the clock resolves is still
// measured. Knows a Timeline only. Used from one thread; owned by the Case.
#pragma once

#include "worker/engine/burst.h"

namespace kbench::engine {

class GraphBurst {
 public:
  // `current_set`: where the launch callback reads whose turn it is; outlives this.
  GraphBurst(Timeline& timeline, BurstRunner& bursts, int sets, int* current_set);

  // As BurstRunner::Run(). The first one launches every set, finds how many launches a replay needs
  // and captures them; KB_NOT_CAPTURABLE when that cannot be. Times are of one launch.
  EngineError Run(const BurstSpec& spec, const LaunchCall& call, BurstOutcome* out);

  int launches() const { return launches_; }  // of one replay; 0 before the first Run()

 private:
  EngineError Plan(const LaunchCall& call);
  EngineError Capture(int launches, const LaunchCall& call);
  EngineError Replays(const BurstSpec& spec, void* stream, BurstOutcome* out);
  static int LaunchReplay(void* user, void* stream);

  Timeline& timeline_;
  BurstRunner& bursts_;
  const int sets_;
  int* const current_set_;
  int launches_ = 0;
  EngineError replay_error_;
};

}  // namespace kbench::engine
