// Runs calls that may hang (the GPU driver's) on a thread of their own and waits only so long. A
// call that never returns costs that thread, not the worker. Thread-safe; calls run one after
// another.
#pragma once

#include <functional>
#include <memory>
#include <optional>

namespace kbench {

class DeadlineThread {
 public:
  DeadlineThread();
  // Does not wait for a call that hangs: the thread is left behind and ends when the call returns.
  ~DeadlineThread();
  DeadlineThread(const DeadlineThread&) = delete;
  DeadlineThread& operator=(const DeadlineThread&) = delete;

  // False when `task` did not finish within `seconds`; it may still run later, so it must own all
  // that it touches. While an earlier call hangs, later ones fail after their own deadline.
  bool Run(std::function<void()> task, double seconds);

  template <typename T>
  std::optional<T> Get(std::function<T()> task, double seconds) {
    auto value = std::make_shared<std::optional<T>>();
    if (!Run([value, task = std::move(task)] { *value = task(); }, seconds)) return std::nullopt;
    return *value;
  }

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace kbench
