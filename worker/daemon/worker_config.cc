#include "worker/daemon/worker_config.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "fmt/format.h"
#include "proto/support/config_text.h"
#include "proto/support/error.h"
#include "proto/support/paths.h"

namespace kbench {
namespace {

constexpr std::size_t kMostNameBytes = 32;

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

// The NAME of "env.NAME".
absl::StatusOr<std::string> EnvironmentOf(const std::string& place, const std::string& section) {
  constexpr char kPrefix[] = "env.";
  const bool environment = section.rfind(kPrefix, 0) == 0;
  std::string name = environment ? section.substr(sizeof(kPrefix) - 1) : "";
  if (!environment || name.find('.') != std::string::npos) {
    return Wrong(
        place, section,
        "there is no such section; a section is [env.NAME] or [labels], as in [env.default]");
  }
  if (!IsEnvironmentName(name)) {
    return Wrong(place, section,
                 fmt::format("an environment's name has 1 to {} lower-case letters, digits, - and "
                             "_, as in [env.torch211]",
                             kMostNameBytes));
  }
  return name;
}

absl::Status TakePython(const std::string& place, const std::string& section,
                        const std::vector<std::string>& values, PythonEnvironment* environment) {
  if (!environment->python.empty() || values.size() != 1) {
    return Wrong(place, section,
                 "python takes one interpreter, as in python = \"/usr/bin/python3\"");
  }
  const std::string& python = values[0];
  const bool name = python.find('/') == std::string::npos;
  if (python.empty() || (!name && python[0] != '/')) {
    return Wrong(place, section,
                 fmt::format("python = \"{}\" is neither an absolute path nor a name on PATH; "
                             "write python = \"/usr/bin/python3\"",
                             python));
  }
  environment->python = python;
  return absl::OkStatus();
}

absl::Status TakeFrameworks(const std::string& place, const std::string& section,
                            const std::vector<std::string>& values,
                            PythonEnvironment* environment) {
  const std::vector<std::string>& known = Frameworks();
  const std::string right = fmt::format("\"{}\"", fmt::join(known, "\", \""));
  for (const std::string& value : values) {
    if (std::find(known.begin(), known.end(), value) == known.end()) {
      return Wrong(place, section,
                   fmt::format("there is no framework '{}'; frameworks = [{}]", value, right));
    }
    auto& taken = environment->frameworks;
    if (std::find(taken.begin(), taken.end(), value) == taken.end()) taken.push_back(value);
  }
  if (!environment->frameworks.empty()) return absl::OkStatus();
  return Wrong(
      place, section,
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
  const std::string whole{std::istreambuf_iterator<char>(text), std::istreambuf_iterator<char>()};
  KB_ASSIGN_OR_RETURN(const auto entries, ParseConfigText(whole, file));
  for (const ConfigEntry& item : entries) {
    const std::string place = fmt::format("{}:{}", file, item.line);
    if (item.section == "labels") continue;  // worker_labels.h
    if (item.section.empty()) {
      // The other keys there are flags (worker_options.h).
      if (item.key != "python" && item.key != "frameworks") continue;
      return Wrong(place, "",
                   fmt::format("'{}' stands in no section; write it below [env.NAME], as in "
                               "[env.default]",
                               item.key));
    }
    KB_ASSIGN_OR_RETURN(const std::string name, EnvironmentOf(place, item.section));
    PythonEnvironment& environment = entry(name);
    if (item.key.empty()) continue;
    if (item.key == "python") {
      KB_RETURN_IF_ERROR(TakePython(place, item.section, item.values, &environment));
    } else if (item.key == "frameworks") {
      KB_RETURN_IF_ERROR(TakeFrameworks(place, item.section, item.values, &environment));
    } else {
      return Wrong(
          place, item.section,
          fmt::format("there is no key '{}'; the keys are python and frameworks", item.key));
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
