#include "server/store/read_results.h"

#include <algorithm>
#include <utility>

#include "proto/support/clock.h"
#include "proto/support/error.h"
#include "server/store/page_token.h"

namespace kbench::store {
namespace {

using kbench::v1::Artifact;
using kbench::v1::Result;

constexpr int kMostResults = 1000;

absl::Status ParseResult(std::string_view bytes, Result& result) {
  if (result.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return absl::OkStatus();
  return MakeError(absl::StatusCode::kDataLoss, "the store holds an unreadable result",
                   {.reason = "STORE_DAMAGED"});
}

absl::Status NotFound(const char* what, const char* reason, const std::string& name) {
  return MakeError(absl::StatusCode::kNotFound, std::string("there is no ") + what + " " + name,
                   {.reason = reason, .metadata = {{what, name}}});
}

}  // namespace

absl::StatusOr<Result> ReadResult(Database& db, const std::string& name) {
  KB_ASSIGN_OR_RETURN(Statement row, db.Prepare("SELECT payload FROM results WHERE name = ?"));
  KB_ASSIGN_OR_RETURN(const bool found, row.Bind(name).Step());
  if (!found) return NotFound("result", "RESULT_NOT_FOUND", name);
  Result result;
  KB_RETURN_IF_ERROR(ParseResult(row.Blob(0), result));
  return result;
}

namespace {

// Where the results of a case lie: in its own job, or in that of the run it shares.
absl::StatusOr<std::pair<std::int64_t, int>> ResultsPlace(Database& db, std::int64_t job_row,
                                                          int case_index) {
  KB_ASSIGN_OR_RETURN(
      Statement row,
      db.Prepare("SELECT jobs.id, cases.results_case FROM cases JOIN jobs "
                 "ON jobs.name = cases.results_of WHERE cases.job = ? AND cases.case_index = ? "
                 "AND cases.results_of <> ''"));
  KB_ASSIGN_OR_RETURN(const bool shared, row.Bind(job_row).Bind(case_index).Step());
  if (!shared) return std::make_pair(job_row, case_index);
  return std::make_pair(row.Int(0), static_cast<int>(row.Int(1)));
}

}  // namespace

absl::Status ReadCaseResults(Database& db, std::int64_t job_row, int case_index,
                             kbench::v1::CaseStatus& into) {
  KB_ASSIGN_OR_RETURN(const auto place, ResultsPlace(db, job_row, case_index));
  KB_ASSIGN_OR_RETURN(
      Statement rows,
      db.Prepare("SELECT payload FROM results WHERE job = ? AND case_index = ? ORDER BY id"));
  rows.Bind(place.first).Bind(place.second);
  for (;;) {
    KB_ASSIGN_OR_RETURN(const bool more, rows.Step());
    if (!more) return absl::OkStatus();
    KB_RETURN_IF_ERROR(ParseResult(rows.Blob(0), *into.add_results()));
  }
}

absl::StatusOr<ResultPage> ReadResults(Database& db, const ResultFilter& filter) {
  std::string key;
  const std::string* const fields[] = {&filter.job,   &filter.kernel,         &filter.dtype,
                                       &filter.shape, &filter.implementation, &filter.device};
  for (const std::string* field : fields) key += *field + "/";
  KB_ASSIGN_OR_RETURN(const std::int64_t before, ReadPageToken(filter.page_token, key));
  KB_ASSIGN_OR_RETURN(
      Statement rows,
      db.Prepare("SELECT id, payload FROM results WHERE id < ? "
                 "AND (? = '' OR job = (SELECT id FROM jobs WHERE name = ?)) "
                 "AND (? = '' OR kernel = ?) AND (? = '' OR dtype = ?) AND (? = '' OR shape = ?) "
                 "AND (? = '' OR implementation = ?) AND (? = '' OR device = ?) "
                 "ORDER BY id DESC LIMIT ?"));
  rows.Bind(before);
  for (const std::string* field : fields) rows.Bind(*field).Bind(*field);
  const int size = std::clamp(filter.page_size, 1, kMostResults);
  rows.Bind(size + 1);
  ResultPage page;
  std::int64_t last = 0;
  for (;;) {
    KB_ASSIGN_OR_RETURN(const bool more, rows.Step());
    if (!more) return page;
    if (static_cast<int>(page.results.size()) == size) {
      page.next_page_token = MakePageToken(last, key);
      return page;
    }
    last = rows.Int(0);
    KB_RETURN_IF_ERROR(ParseResult(rows.Blob(1), page.results.emplace_back()));
  }
}

absl::StatusOr<std::vector<Result>> ReadLatestResults(Database& db, int most) {
  KB_ASSIGN_OR_RETURN(
      Statement rows,
      db.Prepare("SELECT payload FROM results WHERE id IN (SELECT max(id) FROM results "
                 "WHERE is_default = 1 "
                 "GROUP BY kernel, implementation, dtype, shape, mode, device) "
                 "ORDER BY id DESC LIMIT ?"));
  rows.Bind(most);
  std::vector<Result> results;
  for (;;) {
    KB_ASSIGN_OR_RETURN(const bool more, rows.Step());
    if (!more) return results;
    KB_RETURN_IF_ERROR(ParseResult(rows.Blob(0), results.emplace_back()));
  }
}

absl::StatusOr<std::vector<Measured>> ReadMeasured(Database& db, const MeasuredFilter& filter) {
  std::vector<std::pair<std::int64_t, Measured>> found;
  {
    KB_ASSIGN_OR_RETURN(
        Statement rows,
        db.Prepare("SELECT r.job, jobs.name, r.case_index, r.payload FROM results r "
                   "JOIN jobs ON jobs.id = r.job WHERE r.kernel = ? AND r.implementation = ? "
                   "AND r.dtype = ? AND r.shape = ? AND r.mode = ? AND r.device = ? "
                   "ORDER BY r.id DESC LIMIT ?"));
    rows.Bind(filter.kernel).Bind(filter.implementation).Bind(filter.dtype).Bind(filter.shape);
    rows.Bind(filter.mode).Bind(filter.device).Bind(filter.most);
    for (;;) {
      KB_ASSIGN_OR_RETURN(const bool more, rows.Step());
      if (!more) break;
      Result result;
      KB_RETURN_IF_ERROR(ParseResult(rows.Blob(3), result));
      const double time = static_cast<double>(ToMicros(result.create_time())) * 1e-6;
      if (time < filter.since) break;
      Measured& item = found.emplace_back(rows.Int(0), Measured()).second;
      item.ref = {rows.Text(1), static_cast<int>(rows.Int(2))};
      item.device = filter.device;
      item.measured_at = time;
    }
  }
  std::vector<Measured> measured;
  for (auto& [job_row, item] : found) {
    kbench::v1::CaseStatus status;
    KB_RETURN_IF_ERROR(ReadCaseResults(db, job_row, item.ref.index, status));
    item.results.assign(status.results().begin(), status.results().end());
    measured.push_back(std::move(item));
  }
  return measured;
}

absl::StatusOr<std::vector<Artifact>> ReadArtifacts(Database& db, const std::string& job) {
  std::int64_t job_row = 0;
  {
    KB_ASSIGN_OR_RETURN(Statement find, db.Prepare("SELECT id FROM jobs WHERE name = ?"));
    KB_ASSIGN_OR_RETURN(const bool found, find.Bind(job).Step());
    if (!found) return NotFound("job", "JOB_NOT_FOUND", job);
    job_row = find.Int(0);
  }
  KB_ASSIGN_OR_RETURN(Statement rows,
                      db.Prepare("SELECT name, media_type, size_bytes FROM artifacts "
                                 "WHERE job = ? ORDER BY id"));
  rows.Bind(job_row);
  std::vector<Artifact> artifacts;
  for (;;) {
    KB_ASSIGN_OR_RETURN(const bool more, rows.Step());
    if (!more) return artifacts;
    Artifact& artifact = artifacts.emplace_back();
    artifact.set_name(rows.Text(0));
    artifact.set_media_type(rows.Text(1));
    artifact.set_size_bytes(rows.Int(2));
  }
}

absl::StatusOr<Artifact> ReadArtifact(Database& db, const std::string& name) {
  KB_ASSIGN_OR_RETURN(
      Statement row,
      db.Prepare("SELECT a.name, a.media_type, a.size_bytes, coalesce(c.content, a.content) "
                 "FROM artifacts a LEFT JOIN contents c ON c.id = a.shared WHERE a.name = ?"));
  KB_ASSIGN_OR_RETURN(const bool found, row.Bind(name).Step());
  if (!found) return NotFound("artifact", "ARTIFACT_NOT_FOUND", name);
  Artifact artifact;
  artifact.set_name(row.Text(0));
  artifact.set_media_type(row.Text(1));
  artifact.set_size_bytes(row.Int(2));
  artifact.set_content(std::string(row.Blob(3)));
  return artifact;
}

}  // namespace kbench::store
