#include "worker/daemon/worker_config.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "CLI/CLI.hpp"
#include "fmt/format.h"
#include "proto/support/error.h"
#include "proto/support/paths.h"

namespace kbench {
namespace {

constexpr std::size_t kMostNameBytes = 32;
// What CLI11's reader calls the beginning and the end of a section.
constexpr char kSectionBegin[] = "++";
constexpr char kSectionEnd[] = "--";

const std::vector<std::string>& Frameworks() {
  static const auto* all = new std::vector<std::string>{"torch", "triton"};
  return *all;
}

absl::Status Wrong(const std::string& file, const std::string& section,
                   const std::string& message) {
  return MakeError(
      absl::StatusCode::kInvalidArgument,
      file + (section.empty() ? ": " : ": [" + section + "]: ") + message,
      {.reason = "BAD_CONFIGURATION", .metadata = {{"file", file}, {"section", section}}});
}

bool IsEnvironmentName(const std::string& name) {
  return !name.empty() && name.size() <= kMostNameBytes &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_") == std::string::npos;
}

absl::Status CheckSection(const std::string& file, const std::vector<std::string>& parents) {
  const std::string section = fmt::format("{}", fmt::join(parents, "."));
  if (parents.size() != 2 || parents[0] != "env") {
    return Wrong(
        file, section,
        "there is no such section; a section is [env.NAME] or [labels], as in [env.default]");
  }
  if (!IsEnvironmentName(parents[1])) {
    return Wrong(file, section,
                 fmt::format("an environment's name has 1 to {} lower-case letters, digits, - and "
                             "_, as in [env.torch211]",
                             kMostNameBytes));
  }
  return absl::OkStatus();
}

absl::Status TakePython(const std::string& file, const std::string& section,
                        const std::vector<std::string>& values, PythonEnvironment* environment) {
  if (!environment->python.empty() || values.size() != 1) {
    return Wrong(file, section,
                 "python takes one interpreter, as in python = \"/usr/bin/python3\"");
  }
  const std::string& python = values[0];
  const bool name = python.find('/') == std::string::npos;
  if (python.empty() || (!name && python[0] != '/')) {
    return Wrong(file, section,
                 fmt::format("python = \"{}\" is neither an absolute path nor a name on PATH; "
                             "write python = \"/usr/bin/python3\"",
                             python));
  }
  environment->python = python;
  return absl::OkStatus();
}

absl::Status TakeFrameworks(const std::string& file, const std::string& section,
                            const std::vector<std::string>& values,
                            PythonEnvironment* environment) {
  const std::vector<std::string>& known = Frameworks();
  const std::string right = fmt::format("\"{}\"", fmt::join(known, "\", \""));
  for (const std::string& value : values) {
    if (std::find(known.begin(), known.end(), value) == known.end()) {
      return Wrong(file, section,
                   fmt::format("there is no framework '{}'; frameworks = [{}]", value, right));
    }
    auto& taken = environment->frameworks;
    if (std::find(taken.begin(), taken.end(), value) == taken.end()) taken.push_back(value);
  }
  if (!environment->frameworks.empty()) return absl::OkStatus();
  return Wrong(
      file, section,
      "frameworks names none; leave the line out for all of them, or write frameworks = [" + right +
          "]");
}

}  // namespace

std::string DefaultWorkerConfigPath() { return ConfigDir() + "/worker.toml"; }

absl::StatusOr<std::vector<PythonEnvironment>> ParseWorkerConfig(std::istream& text,
                                                                 const std::string& file) {
  std::vector<PythonEnvironment> environments;
  const auto entry = [&](const std::string& name) -> PythonEnvironment& {
    for (PythonEnvironment& known : environments) {
      if (known.name == name) return known;
    }
    return environments.emplace_back(PythonEnvironment{name, "", {}, ""});
  };
  for (const CLI::ConfigItem& item : CLI::ConfigTOML().from_config(text)) {
    const std::string section = fmt::format("{}", fmt::join(item.parents, "."));
    const bool mark = item.name == kSectionBegin || item.name == kSectionEnd;
    if (section == "labels") continue;              // worker_labels.h
    if (mark && item.parents.size() < 2) continue;  // "env" of [env.default]
    if (!mark && item.parents.empty()) {
      // The other keys there are flags (worker_options.h).
      if (item.name != "python" && item.name != "frameworks") continue;
      return Wrong(file, "",
                   fmt::format("'{}' stands in no section; write it below [env.NAME], as in "
                               "[env.default]",
                               item.name));
    }
    KB_RETURN_IF_ERROR(CheckSection(file, item.parents));
    PythonEnvironment& environment = entry(item.parents[1]);
    if (mark) continue;
    if (item.name == "python") {
      KB_RETURN_IF_ERROR(TakePython(file, section, item.inputs, &environment));
    } else if (item.name == "frameworks") {
      KB_RETURN_IF_ERROR(TakeFrameworks(file, section, item.inputs, &environment));
    } else {
      return Wrong(
          file, section,
          fmt::format("there is no key '{}'; the keys are python and frameworks", item.name));
    }
  }
  for (PythonEnvironment& environment : environments) {
    const std::string section = "env." + environment.name;
    if (environment.python.empty()) {
      return Wrong(file, section,
                   "python is missing; write python = \"/usr/bin/python3\" (an absolute path, or a "
                   "name on PATH)");
    }
    environment.origin = fmt::format("[{}] of {}", section, file);
  }
  return environments;
}

absl::StatusOr<std::vector<PythonEnvironment>> ReadWorkerConfig(const std::string& path) {
  std::error_code error;
  std::ifstream file(path);
  if (std::filesystem::is_directory(path, error) || !file.is_open()) {
    return Wrong(path, "", "the configuration cannot be read; name a file that exists");
  }
  return ParseWorkerConfig(file, path);
}

}  // namespace kbench
