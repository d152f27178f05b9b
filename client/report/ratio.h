// How much faster one row is than another, with how sure that is. Pure; thread-safe.
#pragma once

#include <string>

#include "kbench/v1/result.pb.h"

namespace kbench::client {

// Time of the other one over the own: above 1 is faster. low and high are 0 without an interval.
struct Ratio {
  enum class How {
    kNone,     // no ratio
    kByRound,  // of one attempt at one case: paired by its rounds
    kApart,    // of different cases or jobs: from end to end of both intervals, so wider than 95 %
  };
  double value = 0;
  double low = 0;
  double high = 0;
  How how = How::kNone;

  bool known() const { return value > 0; }
  bool sure() const { return low > 0 && high >= low; }
};

// By device time; both usable.
Ratio SpeedOf(const kbench::v1::Result& own, const kbench::v1::Result& other);
// Of one distribution over the other, from end to end of their intervals.
Ratio SpeedOf(const kbench::v1::TimeDistribution& own, const kbench::v1::TimeDistribution& other);

// own - other, seconds, with the interval from end to end of both; both ends 0 without one.
struct Difference {
  double value = 0;
  double low = 0;
  double high = 0;
  bool known = false;

  bool sure() const { return known && low <= high && (low != 0 || high != 0); }
};
Difference DifferenceOf(const kbench::v1::TimeDistribution& own,
                        const kbench::v1::TimeDistribution& other);

// What a caller waits for: end_to_end_time, or its median alone where a result holds no more.
kbench::v1::TimeDistribution EndToEndOf(const kbench::v1::Result& result);

// "0.950x [0.947, 0.953]"; "-" where nothing is known.
std::string RatioText(const Ratio& ratio);
// "+12.3 us [12.0, 12.5]"
std::string DifferenceText(const Difference& difference);
// "12.31 us +-0.98%"; "-" where nothing is known.
std::string SecondsText(const kbench::v1::TimeDistribution& time);

}  // namespace kbench::client
