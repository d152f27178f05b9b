// From a profiler's numbers to what limits a kernel, in one sentence with the figures that say so.
// Pure functions. Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "worker/profile/ncu_table.h"

namespace kbench::profile {

// What ncu is asked for on a device of this architecture ("sm_90").
std::vector<std::string> MetricsFor(const std::string& architecture);

struct Limiter {
  // dram, l2, l1, shared-memory, bank-conflicts, tensor, fp64, issue, latency; empty: nothing was
  // measured.
  std::string name;
  std::string sentence;
};

Limiter NameLimiter(const KernelRow& row);

// The row that took the longest; null when there is none. `share`: its part of all rows' time.
const KernelRow* Longest(const std::vector<KernelRow>& rows, double* share);

}  // namespace kbench::profile
