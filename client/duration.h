// Durations as people type them on an option. Pure, thread-safe.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace kbench::client {

// Seconds, above 0 or from 0 (`zero_too`) to `most` of them. INVALID_ARGUMENT with the field
// `option`, which says what is wrong: no unit, too long, or no duration at all; `examples` as in
// "90s, 30m or 2h".
absl::StatusOr<double> ReadDuration(const std::string& option, const std::string& text,
                                    const std::string& examples, double most,
                                    bool zero_too = false);

// 30 years: beyond any use, and within every integer.
inline constexpr double kMostDuration = 30.0 * 365 * 86400;

}  // namespace kbench::client
