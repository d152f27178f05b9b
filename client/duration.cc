#include "client/duration.h"

#include <fmt/format.h>

#include "client/output/units.h"
#include "proto/support/error.h"

namespace kbench::client {
namespace {

// "24" is as likely meant as hours as it is as seconds: nobody guesses.
bool LacksUnit(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789.") == std::string::npos;
}

std::string WhyNot(const std::string& text, const std::string& examples, double most) {
  double seconds = 0;
  if (LacksUnit(text)) {
    return fmt::format("'{0}' has no unit; write {0}s, {0}m, {0}h or {0}d", text);
  }
  if (ParseDuration(text, &seconds) && seconds > most) {
    return fmt::format("'{}' is longer than {:.0f} days, the most there can be", text,
                       most / 86400);
  }
  return fmt::format("'{}' is not a duration; write {}", text, examples);
}

}  // namespace

absl::StatusOr<double> ReadDuration(const std::string& option, const std::string& text,
                                    const std::string& examples, double most, bool zero_too) {
  double seconds = 0;
  const bool is_one = ParseDuration(text, &seconds);
  if (is_one && seconds <= most && (seconds > 0 || zero_too)) return seconds;
  const std::string message = WhyNot(text, examples, most);
  return MakeError(absl::StatusCode::kInvalidArgument, option + ": " + message,
                   {.reason = "BAD_DURATION", .metadata = {}, .violations = {{option, message}}});
}

}  // namespace kbench::client
