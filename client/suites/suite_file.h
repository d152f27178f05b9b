// A suite as it lies in a file, and where suites are found. Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kbench/v1/suite.pb.h"

namespace kbench::client {

struct SuiteFile {
  std::string path;
  kbench::v1::Suite suite;
  std::vector<int> entry_lines;  // where each entry begins, counted from 1
};

// Errors read "PATH:LINE:COLUMN: what is wrong", all of them, one a violation. An unknown field is
// one.
absl::StatusOr<SuiteFile> ParseSuite(const std::string& path, const std::string& text);
absl::StatusOr<SuiteFile> LoadSuite(const std::string& path);

// A folder of NAME.textproto.
struct SuiteFolder {
  std::string word;  // "user", "installed"
  std::string path;
};
// ${XDG_CONFIG_HOME:-~/.config}/kbench/suites, then share/kbench/suites beside the programs.
std::vector<SuiteFolder> SuiteFolders();

struct FoundSuite {
  std::string name;  // the file's, without ".textproto"
  std::string path;
  std::string where;       // the folder's word
  std::string hides = {};  // the path of one of this name in a later folder
};
// Sorted by name, each name once: the first folder that has it counts.
std::vector<FoundSuite> FindSuites(const std::vector<SuiteFolder>& folders);
// NOT_FOUND names the nearest ones and where was looked.
absl::StatusOr<FoundSuite> FindSuite(const std::vector<SuiteFolder>& folders,
                                     const std::string& name);

}  // namespace kbench::client
