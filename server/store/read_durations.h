// How long cases took, read from an open database.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "server/store/database.h"
#include "server/store/store.h"

namespace kbench::store {

absl::StatusOr<std::vector<CaseDuration>> ReadRecentDurations(Database& db, int most_results);

}  // namespace kbench::store
