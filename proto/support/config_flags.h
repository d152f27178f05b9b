// The command line of a daemon and its configuration file: a key of the file is the long name of a
// flag, and flags win. One thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"

namespace kbench {

struct ConfigRules {
  std::string program = {};       // "kbench-server", for "see kbench-server --help"
  std::string version = {};       // what --version prints
  std::string default_path = {};  // of the file, read where it exists
  std::string about = {};         // of --config in the help
  bool sections = false;          // may stand in the file: they are the program's own to read
  std::string hint = {};          // behind a key that is no flag
};

// Parses into what `declare` binds to `app`; `declare_trial` declares the same flags on variables
// that nobody reads. Adds --config and --version; `config`: what --config names, else empty.
// Returns help or version, to be printed, or nothing. INVALID_ARGUMENT has one line; of a value in
// the file it names file, line and key and what would be right.
absl::StatusOr<std::string> ParseWithConfig(CLI::App& app, const ConfigRules& rules,
                                            const std::function<void(CLI::App&)>& declare,
                                            const std::function<void(CLI::App&)>& declare_trial,
                                            int argc, const char* const* argv, std::string* config);

// Validators that say what would be right.
CLI::Validator WholeBetween(long long least, long long most);
CLI::Validator OneOf(const std::vector<std::string>& words);
// 90s, 30m, 2h; becomes seconds.
CLI::Validator DurationBetween(double least_seconds, double most_seconds);
// 1GiB, 500MB, 4096; becomes bytes.
CLI::Validator ByteSize();

}  // namespace kbench
