// A few bursts of one implementation outside of any case: how the worker measures its own device.
// Used from the case thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/catalog/expected.h"
#include "worker/daemon/cancel.h"
#include "worker/daemon/runner_pool.h"
#include "worker/daemon/runner_process.h"

namespace kbench {

struct QuickCell {
  std::string kernel;
  std::string dtype;
  std::string shape;  // canonical
  std::string implementation;
  double flops = 0;  // of one launch, by the catalog's model
  std::int64_t flush_bytes = 0;
  std::string reference_dir;
  double launch_limit_seconds = 1;
  double warm_seconds = 0.05;
  int bursts = 2;
  int samples = 8;               // of each burst
  double burst_seconds = 0.1;    // a burst ends after this long
  double watchdog_seconds = 20;  // of each request
  bool shortest = false;         // the shortest sample of each burst, not the median
  bool verify = false;           // check the output before the bursts and what they left
};

// The cell with the catalog's first baseline that a runner of the pool offers for the dtype;
// nothing when there is none.
std::optional<QuickCell> MakeQuickCell(const RunnerPool& pool, const std::string& kernel,
                                       const std::string& dtype, const std::string& size);

// Prepares, warms, takes the bursts and finishes: a time of each burst, seconds. An output that is
// wrong: WRONG_RESULT.
Expected<std::vector<double>, RunnerError> RunQuickCell(RunnerProcess& runner,
                                                        const QuickCell& cell,
                                                        const CancelToken& cancel);

}  // namespace kbench
