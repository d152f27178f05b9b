// Which workers a coordinator works with. Pure; thread-safe.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace kbench::server {

// Of the same major version, and at most one minor version behind (so that a lab can renew its
// workers one after the other, the coordinator first) or ahead. FAILED_PRECONDITION says which one
// is to be renewed. A worker that tells no version, or none of numbers, is not judged: a build
// under development.
absl::Status CheckWorkerVersion(const std::string& worker, const std::string& coordinator);

}  // namespace kbench::server
