// The stack on this machine: one coordinator and one worker a device, started as daemons by `up`,
// stopped by `down`. Used from one thread.
#pragma once

#include <string>
#include <vector>

#include "client/command.h"

namespace kbench::client {

struct UpOptions {
  std::vector<std::string> devices;  // empty: every GPU, else the CPU
  std::string metrics_listen;        // empty: 127.0.0.1:7601, or a free port where that is taken
  double timeout_seconds = 30;
};

// Starts what is missing, says what already runs, waits until all of it is ready. The exit code.
int StartStack(Context& context, const UpOptions& options);

// Stops workers, then the coordinator. Only processes proved to be of this stack. The exit code.
int StopStack(Context& context, double grace_seconds);

}  // namespace kbench::client
