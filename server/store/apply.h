// A batch as SQL. Called by the writer inside a savepoint.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "server/store/database.h"
#include "server/store/store.h"

namespace kbench::store {

// `sequences` gets the number of each event, in order.
absl::Status Apply(Database& db, const Batch& batch, std::vector<std::int64_t>& sequences);

}  // namespace kbench::store
