// Mode steady: launches back to back, nothing held and nothing flushed, until clocks and power
// settle. A sample is a batch of launches between two marks; while one batch runs the next one is
// enqueued, so that the device never waits. Knows a Timeline only. Used from one thread; owned by
// the Case.
#pragma once

#include "worker/engine/burst.h"

namespace kbench::engine {

class SteadyBurst {
 public:
  explicit SteadyBurst(Timeline& timeline);

  // Times `spec.samples` batches (fewer after max_seconds), of one launch each time; there are no
  // submit times. The first one finds how many launches a batch needs. A batch that the device had
  // to wait for raises KB_FLAG_HOST_STALL: then the number is what the host can feed.
  EngineError Run(const BurstSpec& spec, const LaunchCall& call, BurstOutcome* out);

  int launches() const { return launches_; }  // of one batch; 0 before the first Run()

 private:
  EngineError Plan(const LaunchCall& call);
  EngineError Batches(const BurstSpec& spec, const LaunchCall& call, BurstOutcome* out);
  EngineError Enqueue(int slot, int launches, const LaunchCall& call);
  EngineError Collect(int slot, BurstOutcome* out);

  Timeline& timeline_;
  const TimelineFacts facts_;
  int launches_ = 0;
  double batch_seconds_ = 0;  // about; from the plan
};

}  // namespace kbench::engine
