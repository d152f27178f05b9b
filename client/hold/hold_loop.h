// What `with` and `hold` do once the device is theirs: keep it, warn before the end, and end on
// time, early, or when the device is lost. One thread calls Run(); Wake() may come from any.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "client/command.h"
#include "client/hold/hold_clock.h"
#include "client/hold/turn.h"
#include "proto/support/mutex.h"

namespace kbench::client {

class HoldLoop {
 public:
  struct Steps {
    std::function<bool()> done;       // looked at after every Wake()
    std::function<void()> terminate;  // its time is over, or the device is lost
    std::function<void()> kill;       // and it has not ended
  };
  enum class Ended { kDone, kTime, kLost };

  // `context` and `backend` outlive it.
  HoldLoop(Context& context, const Backend& backend, const Turn& turn);

  // Until `done`, or for a while after the time is over.
  Ended Run(const Steps& steps);
  void Wake();

 private:
  void Beat(HoldClock::Beat beat, const Steps& steps);
  void OnLost();
  void OnUnsure(bool unsure);
  void TakeNews();

  Context& context_;
  const Backend& backend_;
  const Turn& turn_;
  HoldClock clock_;
  Ended ended_ = Ended::kDone;
  Mutex mutex_;
  CondVar changed_;
  bool woken_ ABSL_GUARDED_BY(mutex_) = false;
  bool lost_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<bool> unsure_ ABSL_GUARDED_BY(mutex_);  // news from the keeper
};

}  // namespace kbench::client
