// Moves SQLite's write-ahead log into the file beside the writer, so that no commit waits for it:
// a passive checkpoint on a connection and a thread of its own once the log is long, and when
// nothing is written for a while. Under steady writing that never reaches the log's end; once the
// log is longer still, the writer does the little that is left, and the log begins anew.
#pragma once

#include <memory>
#include <thread>

#include "absl/status/status.h"
#include "proto/support/mutex.h"
#include "server/store/database.h"

namespace kbench::store {

class Checkpointer {
 public:
  // `db`: its own connection to the file, read-write.
  explicit Checkpointer(std::unique_ptr<Database> db);
  ~Checkpointer();

  // On the writer's thread after each commit, with the writer's connection.
  void Committed(Database& writer);

 private:
  void Loop();

  std::unique_ptr<Database> db_;
  // Of the writer's thread alone.
  int last_pages_ = 0;
  Mutex mutex_;
  CondVar wake_;
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  bool wanted_ ABSL_GUARDED_BY(mutex_) = false;
  bool written_ ABSL_GUARDED_BY(mutex_) = false;  // since the last checkpoint
  bool done_ ABSL_GUARDED_BY(mutex_) = false;     // one since the log began anew
  std::thread thread_;
};

}  // namespace kbench::store
