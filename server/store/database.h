// One SQLite connection with its cached statements. One thread at a time; the writer owns one, each
// reader of the pool another. Errors are absl::Status with the path and what to do.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

struct sqlite3;
struct sqlite3_stmt;

namespace kbench::store {

// A prepared statement in use: bind in order, step, read. Resets itself at its end, so that the
// connection can hand it out again. Text and blobs bound must outlive it.
class Statement {
 public:
  Statement(sqlite3* db, sqlite3_stmt* handle) : db_(db), handle_(handle) {}
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&&) = delete;
  ~Statement();

  Statement& Bind(std::int64_t value);
  Statement& Bind(int value) { return Bind(static_cast<std::int64_t>(value)); }
  Statement& Bind(bool value) { return Bind(static_cast<std::int64_t>(value)); }
  Statement& Bind(double value);
  Statement& Bind(const std::string& text);
  Statement& BindBlob(const std::string& bytes);
  Statement& BindNull();

  // True: a row is there.
  absl::StatusOr<bool> Step();
  // Runs to the end and leaves it ready to be bound again.
  absl::Status Run();

  std::int64_t Int(int column) const;
  double Double(int column) const;
  std::string Text(int column) const;
  std::string_view Blob(int column) const;  // until the next Step
  bool IsNull(int column) const;

 private:
  sqlite3* db_;
  sqlite3_stmt* handle_;
  int next_ = 1;
};

class Database {
 public:
  enum class Access { kReadWrite, kReadOnly };

  // `vfs`: the name of a registered SQLite VFS; null: the default one.
  static absl::StatusOr<std::unique_ptr<Database>> Open(const std::string& path, Access access,
                                                        const char* vfs = nullptr);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // Prepared once, then from the cache. One use of the same text at a time.
  absl::StatusOr<Statement> Prepare(const char* sql);
  // One or more statements without parameters.
  absl::Status Execute(const std::string& sql);
  absl::StatusOr<std::int64_t> QueryInt(const char* sql);

  bool InTransaction() const;
  // Pages in the write-ahead log after the latest commit of this connection.
  int LogPages() const { return log_pages_; }
  sqlite3* handle() const { return handle_; }  // for what this class does not wrap (backups)
  std::int64_t LastInsertId() const;
  int Changes() const;
  const std::string& path() const { return path_; }

 private:
  Database(std::string path, sqlite3* handle);

  std::string path_;
  sqlite3* handle_;
  int log_pages_ = 0;
  std::map<std::string, sqlite3_stmt*, std::less<>> cache_;
};

}  // namespace kbench::store
