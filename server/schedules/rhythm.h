// When a schedule is due: a time of the day in a time zone, on some days of the week. Pure;
// thread-safe. Times are seconds since the epoch.
#pragma once

#include <bitset>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace kbench::schedules {

struct Rhythm {
  int hour = 0;
  int minute = 0;
  absl::TimeZone zone;
  std::bitset<7> days;  // Monday first
};

// `at`: "02:00"; `zone`: an IANA name, empty: this machine's; `days`: "mon" ... "sun", none: every
// day. INVALID_ARGUMENT names the field (at, zone, days[i]), what was wrong and what would be
// right.
absl::StatusOr<Rhythm> MakeRhythm(const std::string& at, const std::string& zone,
                                  const std::vector<std::string>& days);

// The first due time behind `after`. A time that a day has twice is taken once, the first; one that
// it has not (clocks are put forward) comes an hour later.
double NextDue(const Rhythm& rhythm, double after);

// The longest time between two of them, by the days alone: a day that clocks change is as others.
double LongestInterval(const Rhythm& rhythm);

}  // namespace kbench::schedules
