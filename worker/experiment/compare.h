// A cell against the baseline of its case. Pure; thread-safe.
#pragma once

#include <string>

#include "kbench/v1/result.pb.h"
#include "worker/experiment/records.h"

namespace kbench::experiment {

// Paired over the rounds that visited both cells: ratio, interval, verdict at the margin (0: the
// default), p-value, and the same ratio in cycles where every one of those rounds has both clocks.
// False when no round visited both.
bool Compare(const std::string& baseline_name, const CellRecord& baseline, const CellRecord& own,
             double margin_ratio, v1::BaselineComparison* comparison);

}  // namespace kbench::experiment
