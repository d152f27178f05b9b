// Labels of a device, for selectors ("label:rack=a"): [labels] of the worker's configuration and
// --label. Pure.
#pragma once

#include <iosfwd>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace kbench {

using Labels = std::map<std::string, std::string>;

inline constexpr std::size_t kMostDeviceLabels = 16;

// One label: letters, digits, '.', '_', '-' and '/', at most 63 on each side; the value may be
// empty.
absl::Status CheckLabel(const std::string& key, const std::string& value);

// The section [labels]; empty where there is none. INVALID_ARGUMENT names the file and the key.
absl::StatusOr<Labels> ParseConfigLabels(std::istream& text, const std::string& file);

// Those of the configuration with those of the command line ("rack=a") in their place.
absl::StatusOr<Labels> MergeLabels(Labels labels, const std::vector<std::string>& typed);

}  // namespace kbench
