// The sections of the worker's configuration file: which Python interpreters its runners may use.
// Clients pick environments by name and never see a path. Pure apart from reading the file.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace kbench {

inline constexpr char kDefaultEnvironment[] = "default";

// One section: [env.torch211].
struct PythonEnvironment {
  std::string name = kDefaultEnvironment;
  std::string python = "python3";            // an absolute path, or a name to look for on PATH
  std::vector<std::string> frameworks = {};  // empty: all that the device can use
  std::string origin = {};                   // for messages: where `python` was written
};

// Where it lies unless --config says otherwise.
std::string DefaultWorkerConfigPath();

// INVALID_ARGUMENT names the file, the section, what is wrong and what would be right. `file` is
// for messages.
absl::StatusOr<std::vector<PythonEnvironment>> ParseWorkerConfig(std::istream& text,
                                                                 const std::string& file);
absl::StatusOr<std::vector<PythonEnvironment>> ReadWorkerConfig(const std::string& path);

}  // namespace kbench
