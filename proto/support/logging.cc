#include "proto/support/logging.h"

#include <algorithm>
#include <cstdlib>

#include "fmt/format.h"
#include "google/protobuf/stubs/logging.h"
#include "spdlog/sinks/stdout_sinks.h"
#include "spdlog/spdlog.h"

namespace kbench {
namespace {

bool IsLevel(const std::string& text) {
  return std::find(LogLevels().begin(), LogLevels().end(), text) != LogLevels().end();
}

void LogOfProtobuf(google::protobuf::LogLevel, const char*, int, const std::string& message) {
  spdlog::debug("protobuf: {}", message);
}

}  // namespace

const std::vector<std::string>& LogLevels() {
  static const auto* all = new std::vector<std::string>{"trace", "debug", "info", "warn", "error"};
  return *all;
}

void QuietProtobuf() { google::protobuf::SetLogHandler(nullptr); }

void InitLogging(const std::string& program, const std::string& level) {
  auto logger = spdlog::stderr_logger_mt(program);
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e %l %n: %v");
  const char* set = std::getenv("KBENCH_LOG");
  const bool overridden = set != nullptr && IsLevel(set);
  logger->set_level(spdlog::level::from_str(overridden ? set : level));
  logger->flush_on(spdlog::level::info);
  spdlog::set_default_logger(logger);
  google::protobuf::SetLogHandler(LogOfProtobuf);
  if (set != nullptr && !overridden) {
    spdlog::warn("KBENCH_LOG={} names no level; it is one of {}", set,
                 fmt::join(LogLevels(), ", "));
  }
}

}  // namespace kbench
