// Whether somebody else ran on our cores between two looks: another task in place of one of our
// threads, or another guest of the hypervisor. Reads /proc; used from one thread, outside the
// samples.
#pragma once

#include <cstdint>

namespace kbench::engine {

class SchedulerWatch {
 public:
  // True when more than 0.5 % of the time since the last look was taken from us. The first look
  // only starts the watch.
  bool Stolen();

 private:
  struct Snapshot {
    bool valid = false;
    double time = 0;            // steady seconds
    double run_delay = -1;      // seconds our threads stood runnable without a core; -1: not told
    double steal = 0;           // seconds the hypervisor took from the cores we may use
    std::int64_t switches = 0;  // involuntary context switches of our threads
  };

  static Snapshot Take();

  Snapshot last_;
};

}  // namespace kbench::engine
