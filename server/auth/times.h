// Points in time as people read them: "2026-11-30T20:31:16Z". Pure; thread-safe.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace kbench::server::auth {

std::string FormatTime(std::int64_t wall_micros);
std::string FormatTimeMillis(std::int64_t wall_micros);  // "2026-11-30T20:31:16.123Z"
absl::StatusOr<std::int64_t> ParseTime(const std::string& text);

}  // namespace kbench::server::auth
