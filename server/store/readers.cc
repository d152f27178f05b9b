#include "server/store/readers.h"

#include <utility>

#include "proto/support/error.h"

namespace kbench::store {
namespace {

// From the cache of statements: these two are run for every question.
absl::Status RunSql(Database& db, const char* sql) {
  absl::StatusOr<Statement> statement = db.Prepare(sql);
  return statement.ok() ? statement->Run() : statement.status();
}

}  // namespace

ReaderPool::Lease::~Lease() {
  if (db_ == nullptr) return;
  if (db_->InTransaction()) RunSql(*db_, "COMMIT").IgnoreError();
  pool_->Return(std::move(db_));
}

absl::StatusOr<std::unique_ptr<ReaderPool>> ReaderPool::Open(const std::string& path, int size,
                                                             const char* vfs) {
  auto pool = std::make_unique<ReaderPool>();
  for (int i = 0; i < size; ++i) {
    KB_ASSIGN_OR_RETURN(auto db, Database::Open(path, Database::Access::kReadOnly, vfs));
    pool->Return(std::move(db));
  }
  return pool;
}

absl::StatusOr<ReaderPool::Lease> ReaderPool::Borrow() {
  std::unique_ptr<Database> db;
  {
    MutexLock lock(mutex_);
    while (free_.empty()) freed_.Wait(mutex_);
    db = std::move(free_.back());
    free_.pop_back();
  }
  Lease lease(this, std::move(db));
  KB_RETURN_IF_ERROR(RunSql(*lease, "BEGIN"));
  return lease;
}

void ReaderPool::Return(std::unique_ptr<Database> db) {
  {
    MutexLock lock(mutex_);
    free_.push_back(std::move(db));
  }
  freed_.NotifyOne();
}

}  // namespace kbench::store
