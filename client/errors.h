// A status as lines for a person: what was wrong and what would be right. Pure; thread-safe.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "client/io.h"

namespace kbench::client {

// "dtype: kernel matmul has no dtype fp61; nearest: fp64, fp16": one line a wrong field; the same
// fault of many cases is said once.
std::vector<std::string> ErrorLines(const absl::Status& status);

// Prints the lines, each after "kbench-client: ", and returns the exit code.
int ReportError(Io& io, const absl::Status& status);
int ReportUsage(Io& io, const std::string& message);

}  // namespace kbench::client
