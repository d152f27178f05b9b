// One line to standard error per entry, through spdlog. Call once in main().
#pragma once

#include <string>
#include <vector>

namespace kbench {

// "trace", "debug", "info", "warn", "error": what a level may be.
const std::vector<std::string>& LogLevels();

// Protobuf writes lines of its own to standard error about text that is not UTF-8, which our
// errors tell; with this it writes none.
void QuietProtobuf();

// `level`: trace, debug, info, warn, error. The environment variable KBENCH_LOG overrides it,
// unless it names none: that is logged. What protobuf has to say is of level debug.
void InitLogging(const std::string& program, const std::string& level);

}  // namespace kbench
