// Reading an artifact from the coordinator. One thread.
#pragma once

#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "client/backend.h"

namespace kbench::client {

// Writes the artifact of this full name ("artifacts/...") to `out`.
absl::Status FetchArtifact(const Backend& backend, const std::string& name, std::ostream& out);

}  // namespace kbench::client
