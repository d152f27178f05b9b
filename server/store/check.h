// Whether what the store's file holds can be true: SQLite's own check, and what kbench relies on.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/store/database.h"

namespace kbench::store {

// What is wrong, one sentence each, at most a few of a kind; empty: nothing. Reads everything.
// An error only where the file cannot even be read.
absl::StatusOr<std::vector<std::string>> FindProblems(Database& db);

// At the start: the structure of a small file, the first pages of a large one. DATA_LOSS says what
// to do.
absl::Status QuickCheck(Database& db);

}  // namespace kbench::store
