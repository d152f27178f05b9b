// Lists of CPUs as the kernel writes them: "0-3,8". Pure; thread-safe.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace kbench {

// Ascending and without repeats. INVALID_ARGUMENT on anything else than numbers and ranges up to
// 65535.
absl::StatusOr<std::vector<int>> ParseCpuList(const std::string& text);
std::string FormatCpuList(const std::vector<int>& ascending);

}  // namespace kbench
