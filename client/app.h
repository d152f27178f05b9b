// The command line: finds the verb, parses its arguments, runs it. Used once a process (or test).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "client/command.h"

namespace kbench::client {

// `arguments` without the program's name. `server_from_environment` is KBENCH_SERVER. Returns the
// exit code.
int RunClient(const std::vector<std::string>& arguments, const std::string& server_from_environment,
              Io& io, Interrupt& interrupt,
              const std::function<absl::StatusOr<Backend>(const std::string&)>& connect);

}  // namespace kbench::client
