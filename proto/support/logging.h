// One line to standard error per entry, through spdlog. Call once in main().
#pragma once

#include <string>

namespace kbench {

// `level`: trace, debug, info, warn, error. The environment variable KBENCH_LOG overrides it.
void InitLogging(const std::string& program, const std::string& level);

}  // namespace kbench
