#include "server/store/read_durations.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "proto/support/error.h"

namespace kbench::store {

absl::StatusOr<std::vector<CaseDuration>> ReadRecentDurations(Database& db, int most_results) {
  KB_ASSIGN_OR_RETURN(
      Statement rows,
      db.Prepare("SELECT r.job, r.case_index, r.kernel, r.dtype, r.shape, r.mode, r.device, "
                 "r.implementation, c.ended_at - c.started_at, (SELECT count(*) FROM results o "
                 "WHERE o.job = r.job AND o.case_index = r.case_index) FROM "
                 "(SELECT id, job, case_index, kernel, dtype, shape, mode, device, "
                 "implementation FROM results ORDER BY id DESC LIMIT ?) r JOIN cases c "
                 "ON c.job = r.job AND c.case_index = r.case_index "
                 "WHERE c.state = 2 AND c.started_at > 0 ORDER BY r.id DESC"));
  rows.Bind(most_results);
  std::vector<CaseDuration> durations;
  std::pair<std::int64_t, std::int64_t> last{0, -1};  // rows of one case come together
  std::size_t cells = 0;                              // of the case read last
  for (;;) {
    KB_ASSIGN_OR_RETURN(const bool more, rows.Step());
    if (!more) break;
    const std::pair<std::int64_t, std::int64_t> item{rows.Int(0), rows.Int(1)};
    if (item != last) {
      CaseDuration& added = durations.emplace_back();
      added.kernel = rows.Text(2);
      added.dtype = rows.Text(3);
      added.shape = rows.Text(4);
      added.mode = rows.Text(5);
      added.device = rows.Text(6);
      added.seconds = rows.Double(8);
      last = item;
    }
    durations.back().implementations.push_back(rows.Text(7));
    cells = static_cast<std::size_t>(rows.Int(9));
  }
  // The limit may have cut the oldest case: it would look slow for what is left of it.
  if (!durations.empty() && durations.back().implementations.size() < cells) durations.pop_back();
  std::reverse(durations.begin(), durations.end());
  return durations;
}

}  // namespace kbench::store
