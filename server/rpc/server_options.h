// The command line and the configuration file of kbench-server. A key of the file is the long name
// of a flag; flags win.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "server/rpc/server.h"

namespace kbench::server {

struct ProgramOptions {
  ServerOptions server;
  std::string log_level = "info";
};

// Empty: go on. Else what was asked for, to be printed (help, version). INVALID_ARGUMENT says in
// one line what is wrong, and in which file.
absl::StatusOr<std::string> ReadServerOptions(int argc, const char* const* argv,
                                              ProgramOptions* options);

// The same for main(). False: `exit_code` is what main() returns (help, version or a usage error,
// already printed).
bool ParseServerOptions(int argc, const char* const* argv, ProgramOptions* options, int* exit_code);

}  // namespace kbench::server
