#include "server/store/backup.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>

#include "proto/support/error.h"
#include "proto/support/paths.h"
#include "server/store/check.h"
#include "server/store/data_dir_lock.h"
#include "server/store/migrations.h"

namespace kbench::store {
namespace {

namespace fs = std::filesystem;

constexpr int kPagesAtOnce = 1024;  // 4 MiB; between them others get the disk
constexpr const char* kFile = "/kbench.db";

absl::Status Failed(const std::string& what, const char* reason,
                    absl::StatusCode code = absl::StatusCode::kUnavailable) {
  return MakeError(code, what, {.reason = reason});
}

absl::Status SyncPath(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0 || fsync(fd) != 0) {
    const std::string why = std::strerror(errno);
    if (fd >= 0) close(fd);
    return Failed(path + " cannot be synced: " + why, "BACKUP_FAILED");
  }
  close(fd);
  return absl::OkStatus();
}

absl::Status RenameSynced(const std::string& from, const std::string& to) {
  if (rename(from.c_str(), to.c_str()) != 0) {
    return Failed(from + " cannot become " + to + ": " + std::strerror(errno), "BACKUP_FAILED");
  }
  return SyncPath(fs::absolute(to).parent_path().string());
}

// One snapshot of the source: its read transaction stays open between the steps.
absl::Status CopyPages(Database& source, const std::string& path) {
  sqlite3* target = nullptr;
  int code =
      sqlite3_open_v2(path.c_str(), &target, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  // Synced once, at the end.
  if (code == SQLITE_OK) {
    code = sqlite3_exec(target, "PRAGMA synchronous=OFF; PRAGMA journal_mode=OFF", nullptr, nullptr,
                        nullptr);
  }
  if (code == SQLITE_OK) {
    sqlite3_backup* copy = sqlite3_backup_init(target, "main", source.handle(), "main");
    code = copy == nullptr ? sqlite3_errcode(target) : SQLITE_OK;
    while (copy != nullptr && code == SQLITE_OK) {
      code = sqlite3_backup_step(copy, kPagesAtOnce);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (copy != nullptr) code = sqlite3_backup_finish(copy);
  }
  const std::string why = target != nullptr ? sqlite3_errmsg(target) : "out of memory";
  sqlite3_close(target);
  if (code == SQLITE_OK) return absl::OkStatus();
  return Failed("the copy " + path + " cannot be written: " + why, "BACKUP_FAILED");
}

absl::StatusOr<std::int64_t> CopyInto(Database& source, const std::string& partial) {
  KB_RETURN_IF_ERROR(EnsureWritableDir(partial));
  const std::string path = partial + kFile;
  KB_RETURN_IF_ERROR(source.Execute("BEGIN"));
  absl::Status status = source.QueryInt("SELECT count(*) FROM counters").status();
  if (status.ok()) status = CopyPages(source, path);
  source.Execute("COMMIT").IgnoreError();
  KB_RETURN_IF_ERROR(status);
  KB_RETURN_IF_ERROR(SyncPath(path));
  KB_RETURN_IF_ERROR(SyncPath(partial));
  std::error_code error;
  return static_cast<std::int64_t>(fs::file_size(path, error));
}

// Throws nothing away: an earlier store of the folder is kept beside the new one.
absl::Status MoveAside(const std::string& path) {
  std::error_code error;
  for (const char* suffix : {"", "-wal", "-shm"}) {
    fs::remove(path + ".replaced" + suffix, error);
    if (!fs::exists(path + suffix, error)) continue;
    fs::rename(path + suffix, path + ".replaced" + suffix, error);
    if (error) return Failed(path + " cannot be moved aside: " + error.message(), "RESTORE_FAILED");
  }
  return absl::OkStatus();
}

// Above what the backup knows, what was given since, and what another restore has begun with:
// attempts are far fewer than microseconds.
absl::Status RaiseEpochs(Database& db, std::int64_t now_micros) {
  KB_ASSIGN_OR_RETURN(Statement raise, db.Prepare("UPDATE counters SET value = max(value + 1, ?) "
                                                  "WHERE name = 'next_epoch'"));
  return raise.Bind(now_micros).Run();
}

absl::Status PrepareCopy(const std::string& path, std::int64_t now_micros) {
  KB_ASSIGN_OR_RETURN(auto db, Database::Open(path, Database::Access::kReadWrite));
  KB_RETURN_IF_ERROR(Migrate(*db));
  KB_ASSIGN_OR_RETURN(const std::vector<std::string> problems, FindProblems(*db));
  if (!problems.empty()) {
    return Failed("the backup is damaged (" + problems.front() + "); restore another one",
                  "BACKUP_DAMAGED", absl::StatusCode::kDataLoss);
  }
  KB_RETURN_IF_ERROR(RaiseEpochs(*db, now_micros));
  // All of it into the one file that is renamed.
  return db->Execute("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode=DELETE");
}

}  // namespace

absl::StatusOr<std::int64_t> BackUpDatabase(Database& source, const std::string& dir) {
  std::error_code error;
  if (fs::exists(dir, error)) {
    return Failed(dir + " is there already; give another name", "BACKUP_EXISTS",
                  absl::StatusCode::kAlreadyExists);
  }
  const std::string partial = dir + ".partial";
  fs::remove_all(partial, error);  // of a backup that a crash cut short
  absl::StatusOr<std::int64_t> size = CopyInto(source, partial);
  absl::Status status = size.status();
  if (status.ok()) status = RenameSynced(partial, dir);
  if (status.ok()) return size;
  fs::remove_all(partial, error);
  return status;
}

absl::StatusOr<std::string> RestoreBackup(const std::string& backup_dir,
                                          const std::string& data_dir, bool force,
                                          std::int64_t now_micros) {
  const std::string from = backup_dir + kFile;
  const std::string to = data_dir + kFile;
  std::error_code error;
  if (!fs::is_regular_file(from, error)) {
    return Failed(backup_dir + " holds no kbench.db; give the folder that a backup made",
                  "NO_BACKUP", absl::StatusCode::kNotFound);
  }
  KB_RETURN_IF_ERROR(EnsureWritableDir(data_dir));
  KB_ASSIGN_OR_RETURN(const auto lock, DataDirLock::Take(data_dir));
  const bool replaces = fs::exists(to, error);
  if (replaces && !force) {
    return Failed(data_dir + " holds a store already; give --force to move that one aside",
                  "STORE_EXISTS", absl::StatusCode::kFailedPrecondition);
  }
  const std::string copy = to + ".restoring";
  for (const char* suffix : {"", "-wal", "-shm"}) fs::remove(copy + suffix, error);
  fs::copy_file(from, copy, error);
  if (error) return Failed(copy + " cannot be written: " + error.message(), "RESTORE_FAILED");
  fs::permissions(copy, fs::perms::owner_read | fs::perms::owner_write, error);
  absl::Status status = PrepareCopy(copy, now_micros);
  if (status.ok()) status = SyncPath(copy);
  if (status.ok() && replaces) status = MoveAside(to);
  if (status.ok()) status = RenameSynced(copy, to);
  for (const char* suffix : {"", "-wal", "-shm"}) fs::remove(copy + suffix, error);
  KB_RETURN_IF_ERROR(status);
  return "restored " + from + " to " + to +
         (replaces ? "; the store that was there is kept as kbench.db.replaced" : "");
}

}  // namespace kbench::store
