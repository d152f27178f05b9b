// The options of leases and limits, on the command line and in the configuration. One thread.
#pragma once

#include <string>

#include "server/rpc/coordinator.h"

namespace CLI {
class App;
}

namespace kbench::server {

// `options` outlives the parsing.
void AddLimitOptions(CLI::App& app, CoordinatorOptions* options);
// What does not go together, after the parsing: one line; empty when all is well.
std::string CheckLeaseOptions(CoordinatorOptions* options);

}  // namespace kbench::server
