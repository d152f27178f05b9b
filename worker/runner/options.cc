#include "worker/runner/options.h"

#include <sched.h>

#include <charconv>

#include "proto/support/cpu_list.h"

namespace kbench {
namespace {

constexpr int kMostThreads = 4096;

absl::StatusOr<int> ParseInt(const std::string& text, int low, int high) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < low || value > high) {
    return absl::InvalidArgumentError("'" + text + "' is not an integer from " +
                                      std::to_string(low) + " to " + std::to_string(high));
  }
  return value;
}

absl::Status Set(const std::string& name, const std::string& value, RunnerOptions* options) {
  if (name == "--cpus") {
    auto cpus = ParseCpuList(value);
    if (!cpus.ok()) {
      return absl::InvalidArgumentError("--cpus: " + std::string(cpus.status().message()));
    }
    if (cpus->back() >= CPU_SETSIZE) {
      return absl::InvalidArgumentError("--cpus: " + std::to_string(cpus->back()) +
                                        " is beyond the last CPU that a process can be put on, " +
                                        std::to_string(CPU_SETSIZE - 1));
    }
    options->cpus = *std::move(cpus);
    return absl::OkStatus();
  }
  const bool threads = name == "--threads";
  const auto number = threads ? ParseInt(value, 1, kMostThreads) : ParseInt(value, 1, 1 << 30);
  if (!number.ok()) {
    return absl::InvalidArgumentError(name + ": " + std::string(number.status().message()));
  }
  (threads ? options->threads : options->parent) = *number;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RunnerOptions> ParseRunnerOptions(const std::vector<std::string>& args) {
  RunnerOptions options;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (args[i] == "--stdio") {
      options.stdio = true;
      continue;
    }
    if (args[i] != "--cpus" && args[i] != "--threads" && args[i] != "--parent") {
      return absl::InvalidArgumentError(
          "unknown argument '" + args[i] +
          "'; usage: [--stdio] [--cpus 0-3] [--threads N] [--parent PID]");
    }
    if (i + 1 == args.size()) return absl::InvalidArgumentError(args[i] + " needs a value");
    if (absl::Status status = Set(args[i], args[i + 1], &options); !status.ok()) return status;
    ++i;
  }
  return options;
}

}  // namespace kbench
