#include "server/store/database.h"

#include <sqlite3.h>

#include <utility>

#include "proto/support/error.h"

namespace kbench::store {
namespace {

// Caches are small: the coordinator's memory is bounded, and the file is in the page cache anyway.
// auto_vacuum counts for a new file only. The log is moved into the file by checkpointer.h.
constexpr char kReadWriteSettings[] =
    "PRAGMA busy_timeout=5000; PRAGMA auto_vacuum=INCREMENTAL; PRAGMA journal_mode=WAL;"
    "PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON; PRAGMA secure_delete=OFF;"
    "PRAGMA journal_size_limit=67108864; PRAGMA cache_size=-4096;"
    "PRAGMA temp_store=MEMORY;";
constexpr char kReadOnlySettings[] =
    "PRAGMA busy_timeout=5000; PRAGMA query_only=ON; PRAGMA cache_size=-512;"
    "PRAGMA temp_store=MEMORY;";

absl::Status ErrorOf(sqlite3* db, const std::string& path) {
  const int code = db != nullptr ? sqlite3_extended_errcode(db) : SQLITE_NOMEM;
  const std::string what = db != nullptr ? sqlite3_errmsg(db) : "out of memory";
  switch (code & 0xff) {
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      return MakeError(absl::StatusCode::kDataLoss,
                       path + " is damaged or not a kbench database (" + what +
                           "); restore a backup (kbench-server restore), move it away, or give "
                           "another --data-dir",
                       {.reason = "STORE_DAMAGED"});
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return MakeError(
          absl::StatusCode::kPermissionDenied,
          path + " cannot be written (" + what + "); give a --data-dir this user may write to",
          {.reason = "STORE_NOT_WRITABLE"});
    case SQLITE_FULL:
      return MakeError(absl::StatusCode::kUnavailable, "the disk that holds " + path + " is full",
                       {.reason = "STORE_FULL", .retry_after_seconds = 30});
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return MakeError(absl::StatusCode::kUnavailable, path + " is locked by another program",
                       {.reason = "STORE_BUSY", .retry_after_seconds = 5});
    case SQLITE_CONSTRAINT:
      return MakeError(absl::StatusCode::kAlreadyExists, "the store has this already: " + what,
                       {.reason = "STORE_CONFLICT"});
    default:
      return MakeError(absl::StatusCode::kInternal, path + ": " + what, {.reason = "STORE_FAILED"});
  }
}

}  // namespace

Statement::Statement(Statement&& other) noexcept
    : db_(other.db_), handle_(std::exchange(other.handle_, nullptr)), next_(other.next_) {}

Statement::~Statement() {
  if (handle_ == nullptr) return;
  sqlite3_reset(handle_);
  sqlite3_clear_bindings(handle_);
}

Statement& Statement::Bind(std::int64_t value) {
  sqlite3_bind_int64(handle_, next_++, value);
  return *this;
}

Statement& Statement::Bind(double value) {
  sqlite3_bind_double(handle_, next_++, value);
  return *this;
}

Statement& Statement::Bind(const std::string& text) {
  sqlite3_bind_text64(handle_, next_++, text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8);
  return *this;
}

Statement& Statement::BindBlob(const std::string& bytes) {
  sqlite3_bind_blob64(handle_, next_++, bytes.data(), bytes.size(), SQLITE_STATIC);
  return *this;
}

Statement& Statement::BindNull() {
  sqlite3_bind_null(handle_, next_++);
  return *this;
}

absl::StatusOr<bool> Statement::Step() {
  const int code = sqlite3_step(handle_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return ErrorOf(db_, sqlite3_db_filename(db_, "main"));
}

absl::Status Statement::Run() {
  absl::StatusOr<bool> row = true;
  while (row.ok() && *row) row = Step();
  sqlite3_reset(handle_);
  next_ = 1;
  return row.status();
}

std::int64_t Statement::Int(int column) const { return sqlite3_column_int64(handle_, column); }
double Statement::Double(int column) const { return sqlite3_column_double(handle_, column); }

std::string Statement::Text(int column) const {
  const auto* text = sqlite3_column_text(handle_, column);
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(handle_, column));
  return text == nullptr ? std::string() : std::string(reinterpret_cast<const char*>(text), size);
}

std::string_view Statement::Blob(int column) const {
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(handle_, column));
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(handle_, column));
  return bytes == nullptr ? std::string_view() : std::string_view(bytes, size);
}

bool Statement::IsNull(int column) const {
  return sqlite3_column_type(handle_, column) == SQLITE_NULL;
}

Database::Database(std::string path, sqlite3* handle) : path_(std::move(path)), handle_(handle) {
  if (handle_ == nullptr) return;
  const auto count = [](void* pages, sqlite3*, const char*, int count_now) {
    *static_cast<int*>(pages) = count_now;
    return SQLITE_OK;
  };
  sqlite3_wal_hook(handle_, count, &log_pages_);
}

absl::StatusOr<std::unique_ptr<Database>> Database::Open(const std::string& path, Access access,
                                                         const char* vfs) {
  const int flags = SQLITE_OPEN_NOMUTEX |
                    (access == Access::kReadOnly ? SQLITE_OPEN_READONLY
                                                 : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &handle, flags, vfs);
  std::unique_ptr<Database> db(new Database(path, handle));
  if (code != SQLITE_OK) return ErrorOf(handle, path);
  KB_RETURN_IF_ERROR(
      db->Execute(access == Access::kReadOnly ? kReadOnlySettings : kReadWriteSettings));
  return db;
}

Database::~Database() {
  for (const auto& [sql, statement] : cache_) sqlite3_finalize(statement);
  sqlite3_close(handle_);
}

absl::StatusOr<Statement> Database::Prepare(const char* sql) {
  const auto known = cache_.find(std::string_view(sql));
  if (known != cache_.end()) return Statement(handle_, known->second);
  sqlite3_stmt* made = nullptr;
  if (sqlite3_prepare_v3(handle_, sql, -1, SQLITE_PREPARE_PERSISTENT, &made, nullptr) !=
      SQLITE_OK) {
    return ErrorOf(handle_, path_);
  }
  cache_.emplace(sql, made);
  return Statement(handle_, made);
}

absl::Status Database::Execute(const std::string& sql) {
  if (sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK) {
    return absl::OkStatus();
  }
  return ErrorOf(handle_, path_);
}

absl::StatusOr<std::int64_t> Database::QueryInt(const char* sql) {
  KB_ASSIGN_OR_RETURN(Statement statement, Prepare(sql));
  KB_ASSIGN_OR_RETURN(const bool row, statement.Step());
  return row ? statement.Int(0) : 0;
}

bool Database::InTransaction() const { return sqlite3_get_autocommit(handle_) == 0; }
std::int64_t Database::LastInsertId() const { return sqlite3_last_insert_rowid(handle_); }
int Database::Changes() const { return sqlite3_changes(handle_); }

}  // namespace kbench::store
