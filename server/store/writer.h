// The one thread that writes. Batches that wait together share one IMMEDIATE transaction and one
// fsync (group commit), each under its own savepoint; then they are called back in order. Owns the
// connection. Enqueue and EnqueueUpkeep are thread-safe and do not block.
//
// Who waits for a commit mostly comes back with the next request: after a group of n the next one
// waits for n again, a fraction of a commit's time at the most. Otherwise the first to come back
// would take a whole fsync for itself, and the others half as many.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "proto/support/mutex.h"
#include "server/store/checkpointer.h"
#include "server/store/database.h"
#include "server/store/store.h"

namespace kbench::store {

class Writer {
 public:
  // `observe` (may be null) gets the seconds of each commit and how many batches shared it; called
  // on the writer's thread.
  using Observe = std::function<void(double seconds, int batches)>;
  using Upkeep = std::function<absl::Status(Database&)>;
  using Done = std::function<void(const absl::Status&)>;

  // `checkpointer` works on the same file.
  Writer(std::unique_ptr<Database> db, std::unique_ptr<Checkpointer> checkpointer, Observe observe);
  // Writes what waits, then ends the thread.
  ~Writer();

  void Enqueue(Batch batch, Committed done);
  // A small transaction of its own, when no batch waits (or none has let it through for a second).
  // What is queued at the end is not run: then `done` gets CANCELLED.
  void EnqueueUpkeep(Upkeep task, Done done);

 private:
  struct Item {
    Batch batch;
    Committed done;
    absl::Status status;
    std::vector<std::int64_t> sequences;
  };
  struct Task {
    Upkeep run;
    Done done;
    double since = 0;
  };

  void Loop();
  void WriteGroup(std::deque<Item>& group);
  void ApplyFrom(std::deque<Item>& group, std::size_t first, absl::Status& all);
  absl::Status ApplyOne(Item& item);
  // Moves what has arrived into the group; false when nothing did before the time for it was over.
  bool Gather(std::deque<Item>& group);
  void RunUpkeep(Task& task);
  bool TakeUpkeep(Task& task);

  std::unique_ptr<Database> db_;
  std::unique_ptr<Checkpointer> checkpointer_;
  Observe observe_;
  // Of the writer's thread alone.
  std::size_t last_group_ = 0;
  double last_end_ = 0;        // of a commit, steady seconds
  double commit_seconds_ = 0;  // an average of the latest, without the waiting
  Mutex mutex_;
  CondVar wake_;
  std::deque<Item> queue_ ABSL_GUARDED_BY(mutex_);
  std::deque<Task> upkeep_ ABSL_GUARDED_BY(mutex_);
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: starts when everything else is there
};

}  // namespace kbench::store
