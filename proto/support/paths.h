// Where kbench keeps things: the socket, the data, the configuration (README "Addresses and
// paths"). Thread-safe.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace kbench {

// $XDG_RUNTIME_DIR/kbench, else ${TMPDIR:-/tmp}/kbench-$UID. Relative values of these and of the
// other variables here are ignored.
std::string RuntimeDir();
std::string DefaultSocketPath();  // RuntimeDir()/kbench.sock
// ${XDG_STATE_HOME:-~/.local/state}/kbench
std::string DataDir();
// ${XDG_CONFIG_HOME:-~/.config}/kbench
std::string ConfigDir();
// The folder this program lies in.
std::string ProgramDir();

// "unix:PATH" (at most 107 bytes of path), "HOST:PORT". A bare path starting with / or . becomes
// unix:. INVALID_ARGUMENT says what is wrong.
absl::StatusOr<std::string> NormalizeAddress(const std::string& address);
bool IsLoopback(const std::string& normalized_address);

// Creates the folder (mode 0700) and its parents, checks that it can be written. PERMISSION_DENIED
// names the folder.
absl::Status EnsureWritableDir(const std::string& path);

}  // namespace kbench
