// When something is due while a device is held: the warning before the end, the end, and the last
// resort after it. Pure: time is an argument, in seconds on one steady clock.
#pragma once

namespace kbench::client {

class HoldClock {
 public:
  enum class Beat {
    kNone,
    kWarn,  // the end is near
    kEnd,   // the command must end
    kKill,  // and has not
  };
  static constexpr double kWarnSeconds = 300;
  static constexpr double kGraceSeconds = 10;

  // Warns 5 minutes before the end; of a hold shorter than 10 minutes at half of its time.
  HoldClock(double begin, double seconds);

  // The next thing that is due, each once and in order; a late look finds them one after the other.
  Beat Due(double now);
  // Seconds until something is due: 0 when it is, a day when nothing is left.
  double NextIn(double now) const;
  // The device is lost: the end is now, without a warning. Nothing after the end.
  void EndNow(double now);
  double left(double now) const { return end_at_ > now ? end_at_ - now : 0; }

 private:
  double At(Beat beat) const;

  double warn_at_;
  double end_at_;
  Beat next_ = Beat::kWarn;  // kNone: nothing is left
};

}  // namespace kbench::client
