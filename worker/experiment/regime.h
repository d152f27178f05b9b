// What bounds a kernel, and the numbers that say so. Pure; thread-safe.
#pragma once

#include <string>

#include "kbench/v1/result.pb.h"
#include "worker/experiment/summary.h"

namespace kbench::experiment {

struct RegimeInput {
  double device_seconds = 0;
  double submit_seconds = 0;       // host cost of enqueueing one launch; 0 unknown
  double null_kernel_seconds = 0;  // an empty kernel, timed the same way; 0 unknown
};

struct Regime {
  std::string name;    // launch-bound, memory-bound, compute-bound; empty: none of them clearly
  std::string reason;  // one line with the numbers that decided
};

// launch-bound: enqueueing a launch costs more than running it, or an empty kernel takes more than
// half of its time. Otherwise by the larger share of a roof (measured where known, else the
// datasheet's); where those are unknown by arithmetic intensity, or none between the clear cases.
Regime RegimeOf(const Work& work, const v1::Throughput& rates, const RegimeInput& input);

}  // namespace kbench::experiment
