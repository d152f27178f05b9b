#include "server/auth/times.h"

#include "absl/time/time.h"
#include "proto/support/error.h"

namespace kbench::server::auth {

std::string FormatTime(std::int64_t wall_micros) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::FromUnixMicros(wall_micros),
                          absl::UTCTimeZone());
}

std::string FormatTimeMillis(std::int64_t wall_micros) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::FromUnixMicros(wall_micros),
                          absl::UTCTimeZone());
}

absl::StatusOr<std::int64_t> ParseTime(const std::string& text) {
  absl::Time time;
  std::string error;
  if (absl::ParseTime(absl::RFC3339_full, text, &time, &error)) return absl::ToUnixMicros(time);
  return MakeError(absl::StatusCode::kInvalidArgument,
                   "'" + text + "' is no time; write it as in 2026-11-30T20:31:16Z",
                   {.reason = "BAD_TIME"});
}

}  // namespace kbench::server::auth
