// Runs Nsight Compute around a runner that makes one launch of a case, and says what it saw. Used
// from one thread.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "kbench/v1/result.pb.h"
#include "kbench/v1/runner.pb.h"

namespace kbench::profile {

struct Look {
  std::string ncu;                  // path of the program
  std::vector<std::string> runner;  // program and arguments, without --parent
  std::map<std::string, std::string> env;
  v1::RunnerRequest prepare;  // what the runner is asked before the launch
  std::string architecture;   // of the device: sm_90
  bool cold = true;           // caches are flushed before the launch
  std::string folder;         // for its files
  double seconds = 60;        // of all
};

struct Seen {
  v1::Profile profile;
  std::string table;  // what ncu wrote
};

// Never an error of the case: why nothing was seen stands in the profile's message.
Seen LookAtLaunch(const Look& look, const std::function<bool()>& stopped);

}  // namespace kbench::profile
