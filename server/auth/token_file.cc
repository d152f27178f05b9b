// The file of tokens: its lines, and how the commands change it.
#include <fcntl.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <set>
#include <sstream>
#include <utility>

#include "fmt/format.h"
#include "proto/support/clock.h"
#include "proto/support/error.h"
#include "proto/support/private_file.h"
#include "server/auth/times.h"
#include "server/auth/tokens.h"

namespace kbench::server::auth {
namespace {

// Against another command at the same time; the server only reads, and sees whole files.
class FileLock {
 public:
  explicit FileLock(const std::string& path)
      : fd_(open((path + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    if (fd_ >= 0) flock(fd_, LOCK_EX);
  }
  ~FileLock() {
    if (fd_ >= 0) close(fd_);
  }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  bool held() const { return fd_ >= 0; }

 private:
  int fd_;
};

absl::Status CannotLock(const std::string& path) {
  return MakeError(absl::StatusCode::kPermissionDenied,
                   path + " cannot be changed: " + std::strerror(errno) +
                       "; run this as the user the server runs as, or as root",
                   {.reason = "TOKENS_NOT_WRITABLE"});
}

absl::StatusOr<Token> ParseLine(const std::string& line) {
  google::protobuf::Struct fields;
  const absl::Status damaged = absl::InvalidArgumentError("is no token");
  if (!google::protobuf::util::JsonStringToMessage(line, &fields).ok()) return damaged;
  const auto text = [&](const char* name) {
    const auto found = fields.fields().find(name);
    return found == fields.fields().end() ? "" : found->second.string_value();
  };
  const auto flag = [&](const char* name) {
    const auto found = fields.fields().find(name);
    return found != fields.fields().end() && found->second.bool_value();
  };
  Token token;
  token.id = text("id");
  token.hash = text("sha256");
  token.certificate = flag("certificate");
  token.owner = text("owner");
  token.revoked = flag("revoked");
  if (token.id.empty() || token.hash.size() != 64) return damaged;
  KB_ASSIGN_OR_RETURN(token.role, ParseRole(text("role")));
  KB_RETURN_IF_ERROR(CheckOwner(token.owner));
  KB_ASSIGN_OR_RETURN(token.created_micros, ParseTime(text("created")));
  // A line without an end, or with one nobody can read, must not hold for ever by mistake.
  if (text("expires") != "never") {
    KB_ASSIGN_OR_RETURN(token.expire_micros, ParseTime(text("expires")));
  }
  return token;
}

std::string FormatLine(const Token& token) {
  // Ids, owners, roles and hashes have no character that JSON would escape.
  return fmt::format(
      R"({{"id":"{}","sha256":"{}","owner":"{}","role":"{}","created":"{}","expires":"{}"{}{}}})"
      "\n",
      token.id, token.hash, token.owner, RoleName(token.role), FormatTime(token.created_micros),
      token.expire_micros == 0 ? "never" : FormatTime(token.expire_micros),
      token.certificate ? R"(,"certificate":true)" : "", token.revoked ? R"(,"revoked":true)" : "");
}

}  // namespace

absl::StatusOr<std::vector<Token>> ParseTokens(const std::string& text) {
  std::vector<Token> tokens;
  std::set<std::string> ids;
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string::npos || line[0] == '#') continue;
    auto token = ParseLine(line);
    if (token.ok() && !ids.insert(token->id).second) {
      token = absl::InvalidArgumentError("repeats the id " + token->id);
    }
    if (!token.ok()) {
      return MakeError(absl::StatusCode::kInvalidArgument,
                       fmt::format("line {} {}", number, MessageOf(token.status())),
                       {.reason = "TOKENS_DAMAGED"});
    }
    tokens.push_back(*std::move(token));
  }
  return tokens;
}

std::string FormatTokens(const std::vector<Token>& tokens) {
  std::string text =
      "# Written by kbench-server invite and tokens revoke. Holds hashes, no token.\n";
  for (const Token& token : tokens) text += FormatLine(token);
  return text;
}

absl::Status AddToken(const std::string& path, const Token& token) {
  const FileLock lock(path);
  if (!lock.held()) return CannotLock(path);
  KB_ASSIGN_OR_RETURN(std::vector<Token> tokens, ReadTokenFile(path));
  tokens.push_back(token);
  return WritePrivateFile(path, FormatTokens(tokens));
}

absl::StatusOr<Token> RevokeToken(const std::string& path, const std::string& id) {
  const FileLock lock(path);
  if (!lock.held()) return CannotLock(path);
  KB_ASSIGN_OR_RETURN(std::vector<Token> tokens, ReadTokenFile(path));
  std::vector<std::string> known;
  for (Token& token : tokens) {
    known.push_back(token.id);
    if (token.id != id) continue;
    token.revoked = true;
    const Token revoked = token;
    KB_RETURN_IF_ERROR(WritePrivateFile(path, FormatTokens(tokens)));
    return revoked;
  }
  return MakeError(absl::StatusCode::kNotFound,
                   "there is no credential '" + id + "'" +
                       (known.empty() ? ": nobody was invited yet"
                                      : fmt::format("; known are {}", fmt::join(known, ", "))),
                   {.reason = "UNKNOWN_CREDENTIALS"});
}

}  // namespace kbench::server::auth
