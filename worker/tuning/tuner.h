// Times the candidates that an implementation offers, on the case that is open in the engine: each
// is created and run on the case's inputs and a scratch output, never on the case's own. Used from
// the engine's thread.
#pragma once

#include <string>
#include <vector>

#include "kernels/implementation.h"
#include "worker/engine/kbench_engine.h"

namespace kbench::tuning {

struct Tuned {
  std::string candidate;  // the fastest; empty: none could be timed, and `note` says why
  int timed = 0;          // candidates that gave a time
  bool decided = false;   // false: the time was over first, another may be faster
  double seconds = 0;     // that it took
  std::string note;
  // The engine reported KB_DEVICE_ERROR: the process must end. `note` names the candidate.
  bool device_lost = false;
};

// A candidate that cannot be created or launched only loses itself. No further one is tried after
// `max_seconds`.
Tuned Tune(kb_engine* engine, const Implementation& implementation, const Problem& problem,
           const std::vector<std::string>& candidates, int threads, double max_seconds);

}  // namespace kbench::tuning
