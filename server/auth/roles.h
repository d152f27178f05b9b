// What a caller may do. Pure; thread-safe.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace kbench::server::auth {

// viewer < submitter < code < admin; a worker may offer a device and nothing else, an admin may do
// that too.
enum class Role { kNone, kViewer, kSubmitter, kCode, kWorker, kAdmin };

std::string RoleName(Role role);
// INVALID_ARGUMENT lists the roles. "none" is one only where it stands for "refused".
absl::StatusOr<Role> ParseRole(const std::string& name, bool none_too = false);

// Whether who has `has` may do what wants at least `least`. kNone as `least`: anybody who was
// identified.
bool Includes(Role has, Role least);

// Owners stand in tables, file names and logs: 1 to 64 letters, digits and . _ @ -
absl::Status CheckOwner(const std::string& owner);

}  // namespace kbench::server::auth
