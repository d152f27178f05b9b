// Copies of the store's file: made while it serves, and put back in its place.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "server/store/database.h"

namespace kbench::store {

// Copies what `source` sees into DIR/kbench.db, by way of DIR.partial: synced, then renamed.
// `source` is a connection of its own; it is left as it was. The bytes of the copy.
absl::StatusOr<std::int64_t> BackUpDatabase(Database& source, const std::string& dir);

// Puts the backup in `backup_dir` in place of the store in `data_dir`. Checks it first. Refuses
// while a server uses the folder, and where a store is there already unless `force` (which moves it
// aside, to kbench.db.replaced). Epochs go on above any that the old store ever gave: attempts that
// a worker still holds from after the backup are fenced off. One line that says what was done.
absl::StatusOr<std::string> RestoreBackup(const std::string& backup_dir,
                                          const std::string& data_dir, bool force,
                                          std::int64_t now_micros);

}  // namespace kbench::store
