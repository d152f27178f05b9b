// Ctrl-C as an object: main()'s signal thread fires it, whoever waits reacts. Thread-safe.
#pragma once

#include <csignal>
#include <functional>

#include "proto/support/mutex.h"

namespace kbench::client {

class Interrupt {
 public:
  // False when nobody is there to react, or when it had fired before: the process should simply
  // end. `typed`: the terminal sent the signal, to all processes in its foreground.
  bool Fire(int signal = SIGINT, bool typed = true);
  bool fired() const;
  // Sleeps; false as soon as it has fired.
  bool Sleep(double seconds);

  // While it lives, `on_fire` is called (from the firing thread) by Fire(). Hooks nest: the
  // innermost is called.
  class Hook {
   public:
    Hook(Interrupt& interrupt, std::function<void()> on_fire);
    ~Hook();
    Hook(const Hook&) = delete;
    Hook& operator=(const Hook&) = delete;

   private:
    Interrupt& interrupt_;
    std::function<void()> outer_;
  };

  // While it lives, signals are its own business: none counts as fired. For a child that runs in
  // the foreground.
  class Diversion {
   public:
    Diversion(Interrupt& interrupt, std::function<void(int signal, bool typed)> take);
    ~Diversion();
    Diversion(const Diversion&) = delete;
    Diversion& operator=(const Diversion&) = delete;

   private:
    Interrupt& interrupt_;
  };

 private:
  mutable Mutex mutex_;
  CondVar changed_;
  std::function<void(int, bool)> diverted_ ABSL_GUARDED_BY(mutex_);
  bool fired_ ABSL_GUARDED_BY(mutex_) = false;
  std::function<void()> hook_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kbench::client
