// How far the running case of a device is, from what its worker tells, and when it will end. Plain
// values and pure functions; times are seconds on the coordinator's clock.
#pragma once

#include <cstdint>

#include "kbench/v1/job.pb.h"
#include "server/scheduler/types.h"
#include "server/scheduler/view.h"

namespace kbench::server {

// The newest word of one attempt, and what of the earlier ones an estimate needs.
struct RunningProgress {
  std::int64_t epoch = 0;  // of the attempt
  kbench::v1::Progress newest;
  double at = 0;             // when the newest came
  double waited_until = 0;   // when it was last heard to wait for others; 0: never
  double measure_since = 0;  // when the first finished round was told; 0: none was
  int measure_round = 0;     // its number
};

// Takes the word of the attempt of this epoch; one of a newer attempt begins anew.
void Note(std::int64_t epoch, const kbench::v1::Progress& progress, double now,
          RunningProgress& running);

// The case waits for others who compute on its device.
bool WaitsForOthers(const RunningProgress* progress);

// When the case will end: between its remembered durations (Case::estimate_low and _high) until its
// rounds tell more, and never later than its budget allows. Not known while it waits for others. A
// hold may end at any time before its own end. `progress` may be null.
scheduler::Window YieldOf(const scheduler::Case& item, const kbench::v1::JobSpec& spec,
                          const RunningProgress* progress, double now);

}  // namespace kbench::server
