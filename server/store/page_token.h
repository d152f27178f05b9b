// Page tokens: where a listing goes on, bound to its filter. Opaque to clients.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace kbench::store {

std::string MakePageToken(std::int64_t before_id, const std::string& filter);
// The row before which the page begins; the largest id for an empty token. INVALID_ARGUMENT for a
// token that is not ours or of another filter.
absl::StatusOr<std::int64_t> ReadPageToken(const std::string& token, const std::string& filter);

}  // namespace kbench::store
