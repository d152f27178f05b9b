// The epochs of a device, from those of its results. Pure; thread-safe.
//
// A result knows the environment of its own runner only, and a device has several runners, with
// libraries of their own. An epoch of the device begins where a fact that was known has another
// value: of the machine, or of one runner. A runner that is heard of for the first time begins
// none; and what the first result of another runner tells behind such a beginning belongs to it,
// since nobody looked in between.
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "kbench/v1/history_service.pb.h"

namespace kbench::history {

struct DeviceEpoch {
  // The id is that of all facts known by its end; `changed` against the one before. Names of facts
  // of a Python runner have its environment behind them: "torch (default)".
  v1::Epoch epoch;
  std::set<std::string> of_results;  // ids of the epochs of its results
};

// `epochs`: of the device's results, one a result or fewer, in the order of the results.
std::vector<DeviceEpoch> DeviceEpochs(std::span<const v1::Epoch> epochs);

// The latest with this id, of its own or of its results; null: there is none.
const DeviceEpoch* FindEpoch(std::span<const DeviceEpoch> epochs, const std::string& id);

}  // namespace kbench::history
