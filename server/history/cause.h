// Why two results of a kernel differ: what is not the same, and one sentence. Pure; thread-safe.
//
// The verdict, by the first rule that holds (time and cycles: `b` over `a`, less 1):
//   UNKNOWN       one of them has no time, or they answer different questions (kernel, dtype,
//                 shape, mode, flush).
//   NO_CHANGE     CompareResults finds no difference: the interval of the ratio, widened by what
//                 changes between sessions, contains 1.
//   CLOCK         the cycles explain at most a quarter of the time (in logarithms): the rest is the
//                 SM clock, or a processor's. Or the cycles follow the time, but the memory's clock
//                 moved by half of it the other way, and by 1 % at least.
//   ENVIRONMENT   the same, but the clock policy was changed: then that is the cause.
//   FOREIGN_WORK  the slower one shared the device: others computed on it 1 % of the time more, CPU
//                 steal 2 % more, half a process more in the run queue, or slices of the same card
//                 were busy.
//   DEVICE        its canary moved with it by half of the change and by 1 % at least, memory
//   errors,
//                 or the slower one is marked CANARY_DRIFT.
//   ENVIRONMENT, KERNEL  driver, libraries, engine ... differ, or kbench, configuration, code do.
//                 Where both do: UNKNOWN, and the sentence names both.
//   KERNEL        nothing of all this, and the cycles follow the time.
//   UNKNOWN       nothing of all this, and no clock is known.
//
// A difference is told where it is more than chance moves it: clocks 1 %, power 5 %, temperature
// 5 K, shares of time 1 %, throttled seconds 0.05 s, load 0.5. Its weight is how many times as
// large as that it is; versions and configuration weigh as much as a figure three times its
// threshold; what the verdict rests on comes first.
#pragma once

#include "kbench/v1/history_service.pb.h"
#include "kbench/v1/result.pb.h"

namespace kbench::history {

struct WhyOptions {
  double between_session_ratio = 0;  // of the device; 0: stats' prior
};

// `a` is the earlier one, or the baseline's.
v1::Cause Why(const v1::Result& a, const v1::Result& b, const WhyOptions& options = {});

}  // namespace kbench::history
