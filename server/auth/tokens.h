// What has been handed out: tokens and client certificates, one JSON object a line, in a file that
// `kbench-server invite` writes and a running server re-reads when it changes. Of a token only its
// SHA-256 is kept. A slow hash (bcrypt, Argon2) defends guessable passwords; a token is 256 random
// bits, which nobody guesses, so the fast one loses nothing, and every call can afford it.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/support/mutex.h"
#include "server/auth/roles.h"

namespace kbench::server::auth {

struct Token {
  std::string id;
  std::string hash;  // SHA-256, hex: of the token, or of the certificate's DER form
  bool certificate = false;
  std::string owner;
  Role role = Role::kNone;
  std::int64_t created_micros = 0;
  std::int64_t expire_micros = 0;  // 0: never
  bool revoked = false;
};

// A new secret: "kbt_" and 256 random bits.
std::string MakeTokenSecret();

// INVALID_ARGUMENT names the line that is wrong.
absl::StatusOr<std::vector<Token>> ParseTokens(const std::string& text);
std::string FormatTokens(const std::vector<Token>& tokens);

// For the commands: reads, changes and replaces the file, under a lock against other commands.
absl::StatusOr<std::vector<Token>> ReadTokenFile(const std::string& path);
absl::Status AddToken(const std::string& path, const Token& token);
// NOT_FOUND names the ids there are. Idempotent.
absl::StatusOr<Token> RevokeToken(const std::string& path, const std::string& id);

// For the server. Thread-safe.
class TokenStore {
 public:
  // A file that is not there is an empty one: nobody is known.
  explicit TokenStore(std::string path) : path_(std::move(path)) {}

  // Reads the file again if it has changed. An error leaves what was known: a file that is being
  // edited must not lock everybody out.
  absl::Status Refresh();
  // Asks once more whether the file has changed when the hash is not known (one stat): who was just
  // invited should not have to wait.
  std::optional<Token> Find(const std::string& hash);
  // Whether there was no file at the last look: then nobody that was ever invited is let in.
  bool missing() const;
  // Why the credential with this id may not be used (any more); OK when it may.
  absl::Status CheckUsable(const std::string& id, std::int64_t now_micros);
  // UNAUTHENTICATED when everything that was handed out to the owner is revoked or has expired, or
  // is not known any more (a line that was taken out): where others have credentials, an owner has
  // one too, or is a user of this machine.
  absl::Status CheckOwner(const std::string& owner, std::int64_t now_micros);

 private:
  absl::Status RefreshLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string path_;
  mutable Mutex mutex_;
  bool missing_ ABSL_GUARDED_BY(mutex_) = true;
  std::map<std::string, Token> by_hash_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::string> hash_of_id_ ABSL_GUARDED_BY(mutex_);
  struct stat seen_ ABSL_GUARDED_BY(mutex_) = {};
};

// UNAUTHENTICATED when revoked or expired, with words for the holder.
absl::Status CheckUsable(const Token& token, std::int64_t now_micros);

}  // namespace kbench::server::auth
