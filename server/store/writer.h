// The one thread that writes: takes all batches that wait, applies each under its own savepoint in
// one IMMEDIATE transaction, commits once (one fsync for all of them), then calls them back in
// order. Owns the connection. Enqueue is thread-safe and does not block.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "proto/support/mutex.h"
#include "server/store/database.h"
#include "server/store/store.h"

namespace kbench::store {

class Writer {
 public:
  // `observe` (may be null) gets the seconds of each commit and how many batches shared it; called
  // on the writer's thread.
  using Observe = std::function<void(double seconds, int batches)>;

  Writer(std::unique_ptr<Database> db, Observe observe);
  // Writes what waits, then ends the thread.
  ~Writer();

  void Enqueue(Batch batch, Committed done);

 private:
  struct Item {
    Batch batch;
    Committed done;
    absl::Status status;
    std::vector<std::int64_t> sequences;
  };

  void Loop();
  void WriteGroup(std::deque<Item>& group);
  absl::Status ApplyOne(Item& item);

  std::unique_ptr<Database> db_;
  Observe observe_;
  Mutex mutex_;
  CondVar wake_;
  std::deque<Item> queue_ ABSL_GUARDED_BY(mutex_);
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: starts when everything else is there
};

}  // namespace kbench::store
