// The cells of a device before and after a change of its environment. Pure; thread-safe.
//
// A cell with four results or more on both sides is compared by their medians (Hodges and Lehmann,
// Moses' interval: what changes between sessions is in them); one with fewer by the rounds of its
// median result on each side, widened by what sessions differ by. The verdicts are bounded together
// at a false discovery rate of 5 % (BoundFalseDiscoveries): of forty cells that did not change, one
// or two would be "slower" by themselves.
#pragma once

#include <string>
#include <vector>

#include "kbench/v1/history_service.pb.h"
#include "kbench/v1/result.pb.h"

namespace kbench::history {

struct EpochCell {
  v1::CellKey cell;
  // Only those that are VALID and have a time count.
  std::vector<v1::Result> before;
  std::vector<v1::Result> after;
  double noise_ratio = 0;  // the cell's own, where it is known; at least the device's counts
};

struct EpochReportOptions {
  double between_session_ratio = 0;  // of the device; 0: stats' prior
  double margin_ratio = 0;           // 0: stats' default
};

// The largest change first.
v1::EpochReport CompareEpochs(const std::string& device, const v1::Epoch& before,
                              const v1::Epoch& after, const std::vector<EpochCell>& cells,
                              const EpochReportOptions& options = {});

}  // namespace kbench::history
