// Results as `-o json` writes them, read again. Used from one thread.
#pragma once

#include <istream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kbench/v1/result.pb.h"

namespace kbench::client {

// The {"result": ...} lines; those of any other key are passed over, unknown fields too. Errors
// name the line: what is no JSON object, a result that is none or holds no finite numbers, a line
// above 16 MiB. `name` stands for the file in them.
absl::StatusOr<std::vector<kbench::v1::Result>> ReadResults(std::istream& in,
                                                            const std::string& name);
// "-" is standard input.
absl::StatusOr<std::vector<kbench::v1::Result>> LoadResults(const std::string& path);

}  // namespace kbench::client
