// Results and artifacts, read from SQLite. Called inside a read transaction.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/store/database.h"
#include "server/store/store.h"

namespace kbench::store {

absl::StatusOr<kbench::v1::Result> ReadResult(Database& db, const std::string& name);
absl::StatusOr<ResultPage> ReadResults(Database& db, const ResultFilter& filter);
absl::StatusOr<std::vector<kbench::v1::Result>> ReadLatestResults(Database& db, int most);
// Appends the results of one case, in the order of their cells.
absl::Status ReadCaseResults(Database& db, std::int64_t job_row, int case_index,
                             kbench::v1::CaseStatus& into);
absl::StatusOr<std::vector<Measured>> ReadMeasured(Database& db, const MeasuredFilter& filter);
absl::StatusOr<std::vector<kbench::v1::Artifact>> ReadArtifacts(Database& db,
                                                                const std::string& job);
absl::StatusOr<kbench::v1::Artifact> ReadArtifact(Database& db, const std::string& name);

}  // namespace kbench::store
