#include "client/hold/hold_loop.h"

#include <memory>

#include "client/hold/keeper.h"
#include "proto/support/clock.h"
#include "proto/support/ids.h"

namespace kbench::client {
namespace {

double Now() { return SystemClock().SteadySeconds(); }

}  // namespace

HoldLoop::HoldLoop(Context& context, const Backend& backend, const Turn& turn)
    : context_(context), backend_(backend), turn_(turn), clock_(Now(), turn.left_seconds) {}

void HoldLoop::Wake() {
  MutexLock lock(mutex_);
  woken_ = true;
  changed_.NotifyAll();
}

bool HoldLoop::TakeLoss() {
  MutexLock lock(mutex_);
  const bool lost = lost_;
  lost_ = false;
  return lost;
}

void HoldLoop::Beat(HoldClock::Beat beat, const Steps& steps) {
  switch (beat) {
    case HoldClock::Beat::kWarn:
      context_.io.err << "\nkbench-client: " << PlaceOf(turn_.job).device() << " is yours for "
                      << LeftText(clock_.left(Now())) << " more" << std::endl;
      break;
    case HoldClock::Beat::kEnd:
      if (ended_ == Ended::kDone) {
        ended_ = Ended::kTime;
        context_.io.err << "kbench-client: the time with " << PlaceOf(turn_.job).device()
                        << " is over" << std::endl;
      }
      steps.terminate();
      break;
    case HoldClock::Beat::kKill:
      steps.kill();
      break;
    case HoldClock::Beat::kNone:
      break;
  }
}

HoldLoop::Ended HoldLoop::Run(const Steps& steps) {
  std::unique_ptr<Keeper> keeper;
  if (turn_.lapse_seconds > 0) {
    keeper = std::make_unique<Keeper>(backend_, turn_.job.name(), turn_.lapse_seconds, [this] {
      MutexLock lock(mutex_);
      lost_ = true;
      woken_ = true;
      changed_.NotifyAll();
    });
  }
  while (!steps.done()) {
    if (TakeLoss() && ended_ == Ended::kDone) {
      ended_ = Ended::kLost;
      clock_.EndNow(Now());
    }
    const HoldClock::Beat beat = clock_.Due(Now());
    Beat(beat, steps);
    if (beat != HoldClock::Beat::kNone) continue;
    MutexLock lock(mutex_);
    if (!woken_) changed_.WaitFor(mutex_, clock_.NextIn(Now()) + 1e-3);
    woken_ = false;
  }
  return ended_;
}

}  // namespace kbench::client
