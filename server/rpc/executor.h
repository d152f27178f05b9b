// One thread that runs tasks in order: what must not happen in a gRPC reaction or on the store's
// writer thread (reading the store for watchers, say). Thread-safe.
#pragma once

#include <deque>
#include <functional>
#include <thread>

#include "proto/support/mutex.h"

namespace kbench::server {

class Executor {
 public:
  Executor() : thread_([this] { Loop(); }) {}
  ~Executor() { Stop(); }

  // Dropped after Stop.
  void Post(std::function<void()> task);
  // Runs what waits, then ends the thread. Idempotent; not from the thread itself.
  void Stop();

 private:
  void Loop();

  Mutex mutex_;
  CondVar wake_;
  std::deque<std::function<void()>> tasks_ ABSL_GUARDED_BY(mutex_);
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace kbench::server
