// Where the time of an attempt goes: one phase at a time, so that they add up. A plain value; times
// are seconds of a steady clock.
#pragma once

#include <map>
#include <string>

namespace kbench {

class PhaseTimes {
 public:
  PhaseTimes(std::string phase, double now) : phase_(std::move(phase)), since_(now) {}

  // The phase that was on until now.
  std::string Enter(std::string phase, double now) {
    seconds_[phase_] += now - since_;
    since_ = now;
    phase_.swap(phase);
    return phase;
  }
  std::map<std::string, double> Until(double now) {
    Enter(phase_, now);
    return seconds_;
  }

 private:
  std::string phase_;
  double since_;
  std::map<std::string, double> seconds_;
};

}  // namespace kbench
