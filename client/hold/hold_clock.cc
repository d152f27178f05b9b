#include "client/hold/hold_clock.h"

#include <algorithm>

namespace kbench::client {
namespace {

constexpr double kDay = 24 * 3600;

HoldClock::Beat After(HoldClock::Beat beat) {
  switch (beat) {
    case HoldClock::Beat::kWarn:
      return HoldClock::Beat::kEnd;
    case HoldClock::Beat::kEnd:
      return HoldClock::Beat::kKill;
    default:
      return HoldClock::Beat::kNone;
  }
}

}  // namespace

HoldClock::HoldClock(double begin, double seconds)
    : warn_at_(begin + seconds - std::min(kWarnSeconds, seconds / 2)), end_at_(begin + seconds) {}

double HoldClock::At(Beat beat) const {
  switch (beat) {
    case Beat::kWarn:
      return warn_at_;
    case Beat::kEnd:
      return end_at_;
    case Beat::kKill:
      return end_at_ + kGraceSeconds;
    case Beat::kNone:
      break;
  }
  return end_at_ + kDay;
}

HoldClock::Beat HoldClock::Due(double now) {
  if (next_ == Beat::kNone || now < At(next_)) return Beat::kNone;
  const Beat due = next_;
  next_ = After(next_);
  return due;
}

double HoldClock::NextIn(double now) const {
  return next_ == Beat::kNone ? kDay : std::max(0.0, At(next_) - now);
}

void HoldClock::EndNow(double now) {
  if (next_ != Beat::kWarn && next_ != Beat::kEnd) return;
  end_at_ = std::min(end_at_, now);
  next_ = Beat::kEnd;
}

}  // namespace kbench::client
