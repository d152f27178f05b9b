// Configuration files as text: the part of TOML that they need. A line is KEY = VALUE, [SECTION] or
// a comment; a value is a text in quotes, a number or word without, true, false, or a list of them.
// Pure; thread-safe.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace kbench {

struct ConfigEntry {
  std::string section;  // "env.default"; empty: before the first one
  std::string key;      // empty: the line [SECTION] itself
  std::vector<std::string> values;
  bool list = false;  // written in brackets
  int line = 0;       // from 1
};

// In the order of the file. INVALID_ARGUMENT (BAD_CONFIGURATION) names file, line and key, what is
// wrong and what would be right: no text, a key without a value or with two, a key twice.
absl::StatusOr<std::vector<ConfigEntry>> ParseConfigText(const std::string& text,
                                                         const std::string& file);

// The same of a file; one that cannot be read is named.
absl::StatusOr<std::vector<ConfigEntry>> ReadConfigFile(const std::string& path);

// "FILE:LINE: message"
absl::Status ConfigFault(const std::string& file, int line, const std::string& message);

}  // namespace kbench
