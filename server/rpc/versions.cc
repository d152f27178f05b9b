#include "server/rpc/versions.h"

#include <charconv>
#include <optional>

#include "fmt/format.h"
#include "proto/support/error.h"

namespace kbench::server {
namespace {

struct Version {
  int major_number = 0;
  int minor_number = 0;
};

// "1.4.2", "1.4", "1"; nothing of any other text.
std::optional<Version> Parse(const std::string& text) {
  Version version;
  const char* const end = text.data() + text.size();
  const auto major_part = std::from_chars(text.data(), end, version.major_number);
  if (major_part.ec != std::errc() || version.major_number < 0) return std::nullopt;
  if (major_part.ptr == end) return version;
  if (*major_part.ptr != '.') return std::nullopt;
  const auto minor_part = std::from_chars(major_part.ptr + 1, end, version.minor_number);
  if (minor_part.ec != std::errc() || version.minor_number < 0) return std::nullopt;
  return version;
}

}  // namespace

absl::Status CheckWorkerVersion(const std::string& worker, const std::string& coordinator) {
  const auto theirs = Parse(worker);
  const auto ours = Parse(coordinator);
  if (!theirs || !ours) return absl::OkStatus();
  const bool same_major = theirs->major_number == ours->major_number;
  const int ahead = theirs->minor_number - ours->minor_number;
  if (same_major && ahead >= -1 && ahead <= 1) return absl::OkStatus();
  const bool older = same_major ? ahead < 0 : theirs->major_number < ours->major_number;
  return MakeError(
      absl::StatusCode::kFailedPrecondition,
      older ? fmt::format("this worker is kbench {}, too old for the coordinator's {}: one minor "
                          "version behind is the most; install {} on the worker's host",
                          worker, coordinator, coordinator)
            : fmt::format("this worker is kbench {}, too new for the coordinator's {}: one minor "
                          "version ahead is the most; renew the coordinator first",
                          worker, coordinator),
      {.reason = older ? "WORKER_TOO_OLD" : "WORKER_TOO_NEW",
       .metadata = {{"worker", worker}, {"coordinator", coordinator}}});
}

}  // namespace kbench::server
