// Two workers of one identity: each new session displaces the other's, for ever, and no case would
// end. Pure: time is an argument. Not thread-safe: owned by the coordinator, under its lock.
#pragma once

#include <deque>
#include <map>
#include <string>

namespace kbench::server {

class Contests {
 public:
  static constexpr int kMostDisplacements = 3;
  static constexpr double kWindowSeconds = 60;

  // A new process displaces a live session of the same identity. True: for the third time within a
  // minute, so both are to be refused for a minute.
  bool Displaced(double now, const std::string& worker_id);
  // Seconds for which sessions of this identity are still refused; 0: they are not.
  double RefusedFor(double now, const std::string& worker_id);

 private:
  struct Contest {
    std::deque<double> displacements;  // within the window
    double refused_until = 0;
  };
  std::map<std::string, Contest> contests_;
};

}  // namespace kbench::server
