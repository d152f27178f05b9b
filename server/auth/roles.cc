#include "server/auth/roles.h"

#include <array>
#include <utility>

#include "proto/support/error.h"

namespace kbench::server::auth {
namespace {

constexpr std::size_t kMostOwnerBytes = 64;
constexpr std::array<std::pair<Role, const char*>, 6> kNames = {{{Role::kNone, "none"},
                                                                 {Role::kViewer, "viewer"},
                                                                 {Role::kSubmitter, "submitter"},
                                                                 {Role::kCode, "code"},
                                                                 {Role::kWorker, "worker"},
                                                                 {Role::kAdmin, "admin"}}};

}  // namespace

std::string RoleName(Role role) {
  for (const auto& [known, name] : kNames) {
    if (known == role) return name;
  }
  return "none";
}

absl::StatusOr<Role> ParseRole(const std::string& name, bool none_too) {
  std::string list;
  for (const auto& [role, known] : kNames) {
    if (role == Role::kNone && !none_too) continue;
    if (name == known) return role;
    list += (list.empty() ? "" : ", ") + std::string(known);
  }
  return MakeError(absl::StatusCode::kInvalidArgument,
                   "there is no role '" + name + "'; the roles are " + list,
                   {.reason = "UNKNOWN_ROLE"});
}

bool Includes(Role has, Role least) {
  if (has == Role::kNone) return false;
  if (has == Role::kAdmin || least == Role::kNone) return true;
  if (has == Role::kWorker || least == Role::kWorker) return has == least;
  return static_cast<int>(has) >= static_cast<int>(least);
}

absl::Status CheckOwner(const std::string& owner) {
  const bool plain = !owner.empty() && owner.size() <= kMostOwnerBytes && owner[0] != '-' &&
                     owner.find_first_not_of(
                         "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                         "0123456789._@-") == std::string::npos;
  if (plain) return absl::OkStatus();
  return MakeError(absl::StatusCode::kInvalidArgument,
                   "'" + owner +
                       "' is no name of an owner; it has 1 to 64 letters, digits and . _ @ - and "
                       "does not begin with -",
                   {.reason = "BAD_OWNER"});
}

}  // namespace kbench::server::auth
