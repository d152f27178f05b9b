// The options of leases, of the order of the queue and of limits, on the command line and in the
// configuration. One thread.
#pragma once

#include <string>

#include "server/rpc/coordinator.h"

namespace CLI {
class App;
class Validator;
}  // namespace CLI

namespace kbench::server {

// A number from `least` to `most`, for an option; CLI::Range lets through what is no number.
CLI::Validator Between(double least, double most);

// `options` outlives the parsing.
void AddLimitOptions(CLI::App& app, CoordinatorOptions* options);
// What does not go together, after the parsing: one line; empty when all is well.
std::string CheckLimitOptions(CoordinatorOptions* options);

}  // namespace kbench::server
