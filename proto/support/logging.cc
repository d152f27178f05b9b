#include "proto/support/logging.h"

#include <cstdlib>

#include "spdlog/sinks/stdout_sinks.h"
#include "spdlog/spdlog.h"

namespace kbench {

void InitLogging(const std::string& program, const std::string& level) {
  auto logger = spdlog::stderr_logger_mt(program);
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e %l %n: %v");
  const char* override_level = std::getenv("KBENCH_LOG");
  logger->set_level(spdlog::level::from_str(override_level != nullptr ? override_level : level));
  logger->flush_on(spdlog::level::info);
  spdlog::set_default_logger(logger);
}

}  // namespace kbench
