// The threads of this process that are not the caller: the pools that OpenMP and OpenBLAS keep. A
// pool thread that spins after a launch takes a core from whoever measures next, and one that
// wanders between cores makes two threads share one. Reads /proc; used from the engine's thread.
#pragma once

#include <set>
#include <vector>

namespace kbench::engine {

class OwnThreads {
 public:
  // The CPUs of the calling thread's affinity mask, as they are now.
  OwnThreads();

  // Puts every thread on a CPU of its own: the caller on the first one, the others in the order of
  // their ids on the rest, so that each pool covers them all. Others placed before keep their
  // place. Nothing happens on a single CPU.
  void Place();
  // Lets the caller, and the threads it starts from now on, run on any of the CPUs again.
  void FreeCaller();

  // Waits until every other thread sleeps, at most so long. False when one is still awake.
  static bool WaitUntilAsleep(double max_seconds);

 private:
  std::vector<int> cpus_;
  std::set<int> placed_;
};

}  // namespace kbench::engine
