// The command line of a runner: [--stdio] [--cpus 0-3,6] [--threads N] [--parent PID]. A plain
// value type.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace kbench {

struct RunnerOptions {
  bool stdio = false;     // frames on standard input and output instead of descriptors 3 and 4
  std::vector<int> cpus;  // empty: where the parent put us
  int threads = 0;        // 0: one for each CPU
  pid_t parent = 0;       // 0: not checked
};

// `args` without the program's name. INVALID_ARGUMENT names the argument and what would be right.
absl::StatusOr<RunnerOptions> ParseRunnerOptions(const std::vector<std::string>& args);

}  // namespace kbench
