#include "client/interrupt.h"

#include <chrono>
#include <utility>

namespace kbench::client {

bool Interrupt::Fire(int signal, bool typed) {
  MutexLock lock(mutex_);
  if (diverted_) {
    diverted_(signal, typed);
    return true;
  }
  const bool first = !fired_;
  fired_ = true;
  changed_.NotifyAll();
  if (!hook_) return false;
  hook_();
  return first;
}

bool Interrupt::fired() const {
  MutexLock lock(mutex_);
  return fired_;
}

bool Interrupt::Sleep(double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  MutexLock lock(mutex_);
  while (!fired_) {
    const std::chrono::duration<double> left = end - std::chrono::steady_clock::now();
    if (left.count() <= 0) return true;
    changed_.WaitFor(mutex_, left.count());
  }
  return false;
}

Interrupt::Hook::Hook(Interrupt& interrupt, std::function<void()> on_fire) : interrupt_(interrupt) {
  MutexLock lock(interrupt_.mutex_);
  outer_ = std::exchange(interrupt_.hook_, std::move(on_fire));
}

Interrupt::Diversion::Diversion(Interrupt& interrupt, std::function<void(int, bool)> take)
    : interrupt_(interrupt) {
  MutexLock lock(interrupt_.mutex_);
  interrupt_.diverted_ = std::move(take);
}

Interrupt::Diversion::~Diversion() {
  MutexLock lock(interrupt_.mutex_);
  interrupt_.diverted_ = nullptr;
}

Interrupt::Hook::~Hook() {
  MutexLock lock(interrupt_.mutex_);
  interrupt_.hook_ = std::move(outer_);
}

}  // namespace kbench::client
