#include "proto/support/credentials.h"

#include <fcntl.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include "fmt/format.h"
#include "proto/support/clock.h"
#include "proto/support/credentials_json.h"
#include "proto/support/error.h"
#include "proto/support/paths.h"
#include "proto/support/private_file.h"

namespace kbench {
namespace {

using google::protobuf::Struct;

std::string Env(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

absl::Status Fault(const std::string& message, const char* reason) {
  return MakeError(absl::StatusCode::kFailedPrecondition, message, {.reason = reason});
}

// As ssh does of its keys: whoever could read the token is whom it names.
absl::Status CheckPrivate(const std::string& path) {
  struct stat about = {};
  constexpr mode_t kOthers = 077;
  if (stat(path.c_str(), &about) != 0 || (about.st_mode & kOthers) == 0) return absl::OkStatus();
  return Fault(fmt::format("{0} has mode {1:04o}, so others may have read the token in it; chmod "
                           "600 {0}, and where others use this machine have the token revoked "
                           "(kbench-server tokens revoke) and join again",
                           path, about.st_mode & 07777),
               "CREDENTIALS_EXPOSED");
}

// {"default": ADDRESS, "servers": {ADDRESS: {...}}}; empty where there is no file.
absl::StatusOr<Struct> ReadStored(const std::string& path) {
  Struct stored;
  std::ifstream file(path);
  if (!file.is_open()) {
    if (errno == ENOENT || errno == ENOTDIR) return stored;
    return Fault(path + " cannot be read: " + std::strerror(errno), "CREDENTIALS_UNREADABLE");
  }
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!google::protobuf::util::JsonStringToMessage(text, &stored).ok()) {
    return Fault(path + " is damaged; remove it and join again", "CREDENTIALS_UNREADABLE");
  }
  KB_RETURN_IF_ERROR(CheckPrivate(path));
  return stored;
}

absl::StatusOr<StoredCredentials> Find(const Struct& stored, const std::string& address) {
  StoredCredentials found;
  const auto servers = stored.fields().find("servers");
  if (address.empty() || servers == stored.fields().end()) return found;
  const auto& known = servers->second.struct_value().fields();
  const auto entry = known.find(address);
  if (entry == known.end()) return found;
  found.address = address;
  KB_ASSIGN_OR_RETURN(found.credentials, CredentialsFromStruct(entry->second.struct_value()));
  return found;
}

absl::Status CheckExpiry(const Credentials& credentials) {
  const std::int64_t now = SystemClock().WallMicros() / 1'000'000;
  if (credentials.expire_seconds == 0 || credentials.expire_seconds > now) return absl::OkStatus();
  return MakeError(absl::StatusCode::kUnauthenticated,
                   "your credentials have expired; ask an admin for a new line (kbench-server "
                   "invite) and join again",
                   {.reason = "EXPIRED_CREDENTIALS"});
}

// PEM, or the file that holds it.
absl::StatusOr<std::string> ReadAuthority(const std::string& value) {
  if (value.rfind("-----BEGIN", 0) == 0) return value;
  std::ifstream file(value);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (text.find("-----BEGIN CERTIFICATE-----") != std::string::npos) return text;
  return Fault("KBENCH_CA is neither a certificate (PEM) nor a file that holds one", "BAD_CA");
}

}  // namespace

std::string ClientCredentialsPath() { return ConfigDir() + "/client.json"; }
std::string WorkerCredentialsPath() { return ConfigDir() + "/worker.json"; }

absl::StatusOr<StoredCredentials> DefaultCredentials(const std::string& path) {
  KB_ASSIGN_OR_RETURN(const Struct stored, ReadStored(path));
  const auto chosen = stored.fields().find("default");
  if (chosen == stored.fields().end()) return StoredCredentials();
  return Find(stored, chosen->second.string_value());
}

absl::Status StoreCredentials(const std::string& path, const std::string& address,
                              const Credentials& credentials) {
  KB_RETURN_IF_ERROR(EnsureWritableDir(path.substr(0, path.rfind('/'))));
  KB_ASSIGN_OR_RETURN(Struct stored, ReadStored(path));
  auto& fields = *stored.mutable_fields();
  fields["default"].set_string_value(address);
  auto& servers = *fields["servers"].mutable_struct_value()->mutable_fields();
  *servers[address].mutable_struct_value() = CredentialsToStruct(credentials);
  std::string json;
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  (void)google::protobuf::util::MessageToJsonString(stored, &json, options);
  return WritePrivateFile(path, json);
}

absl::StatusOr<Credentials> CredentialsFor(const std::string& address, const std::string& path) {
  const bool unix_socket = address.rfind("unix:", 0) == 0;
  Credentials credentials;
  const std::string token = Env("KBENCH_TOKEN");
  const std::string ca = Env("KBENCH_CA");
  KB_ASSIGN_OR_RETURN(const Struct stored, ReadStored(path));
  KB_ASSIGN_OR_RETURN(const StoredCredentials found, Find(stored, address));
  // One's own local stack knows who calls: a token for the lab's coordinator is none of its
  // business.
  const bool own_stack = address == "unix:" + DefaultSocketPath();
  if (!token.empty() && !own_stack) {
    if (token.rfind(kJoinPrefix, 0) == 0) {
      return Fault("KBENCH_TOKEN holds a join line, not a token; use: kbench-client join LINE",
                   "BAD_CREDENTIALS");
    }
    Struct fields;
    (*fields.mutable_fields())["token"].set_string_value(token);
    KB_ASSIGN_OR_RETURN(credentials, CredentialsFromStruct(fields));
    credentials.ca = found.credentials.ca;
    credentials.tls = !unix_socket && !IsLoopback(address);
  } else {
    credentials = found.credentials;
    KB_RETURN_IF_ERROR(CheckExpiry(credentials));
  }
  if (!ca.empty() && !unix_socket) {
    KB_ASSIGN_OR_RETURN(credentials.ca, ReadAuthority(ca));
  }
  if (unix_socket) {  // the kernel protects it better than TLS would
    credentials.ca.clear();
    credentials.tls = false;
  }
  return credentials;
}

}  // namespace kbench
