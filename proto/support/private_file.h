// Files that only their owner may read. Thread-safe.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace kbench {

// Replaces the file in one step (a reader sees the old or the new content, also after a crash),
// with mode 0600. Where root writes into another user's folder the file becomes that user's: the
// service that runs as that user must be able to read it.
absl::Status WritePrivateFile(const std::string& path, const std::string& content);

// The same for a folder: makes it with mode 0700 where it is not there.
absl::Status MakePrivateDir(const std::string& path);

}  // namespace kbench
