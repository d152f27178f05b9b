#include "client/hold/hold_loop.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

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

// What the keeper has noticed; told here, where nobody else writes to the terminal.
void HoldLoop::TakeNews() {
  bool lost = false;
  std::optional<bool> unsure;
  {
    MutexLock lock(mutex_);
    std::swap(lost, lost_);
    std::swap(unsure, unsure_);
  }
  const std::string device = PlaceOf(turn_.job).device();
  if (unsure.has_value()) {
    context_.io.err << "\nkbench-client: "
                    << (*unsure ? fmt::format("no answer from the coordinator for {}: {} may be "
                                              "given to somebody else; still trying",
                                              LeftText(turn_.lapse_seconds), device)
                                : fmt::format("the coordinator is back, {} is still yours", device))
                    << std::endl;
  }
  if (lost && ended_ == Ended::kDone) {
    ended_ = Ended::kLost;
    clock_.EndNow(Now());
  }
}

void HoldLoop::OnLost() {
  MutexLock lock(mutex_);
  lost_ = true;
  woken_ = true;
  changed_.NotifyAll();
}

void HoldLoop::OnUnsure(bool unsure) {
  MutexLock lock(mutex_);
  unsure_ = unsure;
  woken_ = true;
  changed_.NotifyAll();
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
    keeper = std::make_unique<Keeper>(
        backend_, turn_.job.name(), turn_.lapse_seconds,
        Keeper::Notices{[this] { OnLost(); }, [this](bool unsure) { OnUnsure(unsure); }});
  }
  while (!steps.done()) {
    TakeNews();
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
