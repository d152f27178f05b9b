#include "server/rpc/executor.h"

#include <utility>

namespace kbench::server {

void Executor::Post(std::function<void()> task) {
  {
    MutexLock lock(mutex_);
    if (stop_) return;
    tasks_.push_back(std::move(task));
  }
  wake_.NotifyOne();
}

void Executor::Stop() {
  {
    MutexLock lock(mutex_);
    stop_ = true;
  }
  wake_.NotifyOne();
  if (thread_.joinable()) thread_.join();
}

void Executor::Loop() {
  for (;;) {
    std::function<void()> task;
    {
      MutexLock lock(mutex_);
      while (tasks_.empty() && !stop_) wake_.Wait(mutex_);
      if (tasks_.empty()) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }
}

}  // namespace kbench::server
