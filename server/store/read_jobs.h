// Jobs, events and the scheduler's state, read from SQLite. Called inside a read transaction.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/store/database.h"
#include "server/store/store.h"

namespace kbench::store {

absl::StatusOr<std::optional<Request>> ReadRequest(Database& db, const std::string& request_id);
absl::StatusOr<kbench::v1::Job> ReadJob(Database& db, const std::string& name, bool with_results);
absl::StatusOr<JobPage> ReadJobs(Database& db, const JobFilter& filter);
absl::StatusOr<std::vector<kbench::v1::JobEvent>> ReadJobEvents(Database& db,
                                                                const std::string& job,
                                                                std::int64_t after, int most);
absl::StatusOr<std::vector<Deaths>> ReadDeaths(Database& db, double since);
absl::StatusOr<Restored> ReadForRestore(Database& db);

}  // namespace kbench::store
