#include "worker/device/deadline_thread.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

namespace kbench {

// Shared with the thread, which may outlive the object. std::mutex, not Mutex: waits with a
// deadline on a predicate.
struct DeadlineThread::State {
  struct Task {
    std::function<void()> run;
    bool done = false;
    bool abandoned = false;
  };
  std::mutex mutex;
  std::condition_variable wake;
  std::condition_variable finished;
  std::deque<std::shared_ptr<Task>> tasks;
  bool stop = false;
};

DeadlineThread::DeadlineThread() : state_(std::make_shared<State>()) {
  std::thread([state = state_] {
    std::unique_lock<std::mutex> lock(state->mutex);
    while (true) {
      state->wake.wait(lock, [&] { return state->stop || !state->tasks.empty(); });
      if (state->stop) return;
      const auto task = std::move(state->tasks.front());
      state->tasks.pop_front();
      if (task->abandoned) continue;
      lock.unlock();
      task->run();
      lock.lock();
      task->done = true;
      state->finished.notify_all();
    }
  }).detach();
}

DeadlineThread::~DeadlineThread() {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->stop = true;
  state_->wake.notify_all();
}

bool DeadlineThread::Run(std::function<void()> task, double seconds) {
  auto entry = std::make_shared<State::Task>();
  entry->run = std::move(task);
  std::unique_lock<std::mutex> lock(state_->mutex);
  state_->tasks.push_back(entry);
  state_->wake.notify_one();
  const bool done = state_->finished.wait_for(lock, std::chrono::duration<double>(seconds),
                                              [&] { return entry->done; });
  entry->abandoned = !done;
  return done;
}

}  // namespace kbench
