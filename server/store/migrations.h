// The schema of the SQLite store as a numbered list of steps: user_version says how many a file has
// seen. A step is never edited once released; a change is a new step.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "server/store/database.h"

namespace kbench::store {

const std::vector<std::string>& Migrations();

// Brings the file to the newest schema, each step in its own transaction. FAILED_PRECONDITION for
// a newer schema than ours or another program's database.
absl::Status Migrate(Database& db);
// FAILED_PRECONDITION when the file is of another schema than this program's; changes nothing.
absl::Status CheckSchema(Database& db);

}  // namespace kbench::store
