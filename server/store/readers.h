// A small pool of read-only connections. Thread-safe; Borrow waits for a free one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "proto/support/mutex.h"
#include "server/store/database.h"

namespace kbench::store {

class ReaderPool {
 public:
  // A connection inside a read transaction: everything read through it is of one moment.
  class Lease {
   public:
    Lease(ReaderPool* pool, std::unique_ptr<Database> db) : pool_(pool), db_(std::move(db)) {}
    Lease(Lease&&) = default;
    Lease& operator=(Lease&&) = delete;
    ~Lease();
    Database& operator*() const { return *db_; }

   private:
    ReaderPool* pool_;
    std::unique_ptr<Database> db_;
  };

  static absl::StatusOr<std::unique_ptr<ReaderPool>> Open(const std::string& path, int size,
                                                          const char* vfs);
  absl::StatusOr<Lease> Borrow();

 private:
  void Return(std::unique_ptr<Database> db);

  Mutex mutex_;
  CondVar freed_;
  std::vector<std::unique_ptr<Database>> free_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kbench::store
