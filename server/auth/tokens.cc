#include "server/auth/tokens.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include "proto/support/base64url.h"
#include "proto/support/error.h"
#include "proto/support/user_name.h"
#include "server/auth/crypto.h"

namespace kbench::server::auth {
namespace {

constexpr char kPrefix[] = "kbt_";
constexpr std::size_t kSecretBytes = 32;

absl::Status Refused(const std::string& message, const char* reason) {
  return MakeError(absl::StatusCode::kUnauthenticated, message, {.reason = reason});
}

bool SameFile(const struct stat& a, const struct stat& b) {
  return a.st_ino == b.st_ino && a.st_size == b.st_size && a.st_mtim.tv_sec == b.st_mtim.tv_sec &&
         a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

}  // namespace

std::string MakeTokenSecret() { return kPrefix + ToBase64Url(RandomBytes(kSecretBytes)); }

absl::StatusOr<std::vector<Token>> ReadTokenFile(const std::string& path) {
  std::ifstream file(path);
  if (!file.is_open()) {
    if (errno == ENOENT) return std::vector<Token>();
    return MakeError(absl::StatusCode::kPermissionDenied,
                     path + " cannot be read: " + std::strerror(errno),
                     {.reason = "TOKENS_UNREADABLE"});
  }
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  auto tokens = ParseTokens(text);
  if (tokens.ok()) return tokens;
  return MakeError(absl::StatusCode::kFailedPrecondition, path + ": " + MessageOf(tokens.status()),
                   {.reason = "TOKENS_DAMAGED"});
}

absl::Status CheckUsable(const Token& token, std::int64_t now_micros) {
  const bool expired = token.expire_micros != 0 && token.expire_micros <= now_micros;
  if (!token.revoked && !expired) return absl::OkStatus();
  return MakeError(absl::StatusCode::kUnauthenticated,
                   "credential " + token.id + " of " + token.owner +
                       (token.revoked ? " was revoked" : " has expired") +
                       "; ask an admin for a new line (kbench-server invite) and join again",
                   {.reason = token.revoked ? "REVOKED_CREDENTIALS" : "EXPIRED_CREDENTIALS",
                    .metadata = {{"credential", token.id}, {"owner", token.owner}}});
}

absl::Status TokenStore::Refresh() {
  MutexLock lock(mutex_);
  return RefreshLocked();
}

absl::Status TokenStore::RefreshLocked() {
  struct stat now = {};
  if (stat(path_.c_str(), &now) != 0 && errno == ENOENT) now = {};
  missing_ = now.st_ino == 0;
  if (SameFile(now, seen_)) return absl::OkStatus();
  KB_ASSIGN_OR_RETURN(std::vector<Token> tokens, ReadTokenFile(path_));
  by_hash_.clear();
  hash_of_id_.clear();
  for (Token& token : tokens) {
    hash_of_id_[token.id] = token.hash;
    by_hash_[token.hash] = std::move(token);
  }
  seen_ = now;
  return absl::OkStatus();
}

bool TokenStore::missing() const {
  MutexLock lock(mutex_);
  return missing_;
}

std::optional<Token> TokenStore::Find(const std::string& hash) {
  MutexLock lock(mutex_);
  auto found = by_hash_.find(hash);
  if (found == by_hash_.end()) {
    RefreshLocked().IgnoreError();  // the timer's own look says it
    found = by_hash_.find(hash);
  }
  if (found == by_hash_.end()) return std::nullopt;
  return found->second;
}

absl::Status TokenStore::CheckUsable(const std::string& id, std::int64_t now_micros) {
  MutexLock lock(mutex_);
  const auto hash = hash_of_id_.find(id);
  if (hash == hash_of_id_.end()) {
    return Refused("credential " + id + " is not known here any more; join again",
                   "UNKNOWN_CREDENTIALS");
  }
  return auth::CheckUsable(by_hash_.at(hash->second), now_micros);
}

absl::Status TokenStore::CheckOwner(const std::string& owner, std::int64_t now_micros) {
  MutexLock lock(mutex_);
  bool revoked = false;
  for (const auto& [hash, token] : by_hash_) {
    if (token.owner != owner) continue;
    const bool submits = Includes(token.role, Role::kSubmitter);
    if (submits && auth::CheckUsable(token, now_micros).ok()) return absl::OkStatus();
    revoked = true;
  }
  if (revoked) {
    return Refused(
        "whatever was handed out to " + owner + " is revoked, has expired or may not submit",
        "REVOKED_CREDENTIALS");
  }
  if (by_hash_.empty() || IsUserName(owner)) return absl::OkStatus();
  return Refused("nothing that was handed out to " + owner + " is known here any more",
                 "UNKNOWN_CREDENTIALS");
}

}  // namespace kbench::server::auth
