// From what a call brings to who calls. Thread-safe; no I/O but the look into the file of tokens
// when one is not known.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "grpcpp/server_context.h"
#include "server/auth/caller.h"
#include "server/auth/options.h"
#include "server/auth/tokens.h"

namespace kbench::server::auth {

enum class Transport { kUnix, kTls, kPlainLoopback, kPlainNetwork };

// What a call brings.
struct Presented {
  Transport transport = Transport::kPlainNetwork;
  std::vector<std::string> authorization = {};  // every header of that name
  std::string certificate = {};                 // PEM, verified by TLS; empty: none was shown
  std::string common_name = {};
  std::vector<std::string> uris = {};  // of its alternative names
};
Presented PresentedBy(const grpc::ServerContextBase& context);

class Authenticator {
 public:
  // `tokens` outlives it. `local_key` signs local users' tokens. `own_uid`: the server's.
  Authenticator(const AuthOptions& options, TokenStore& tokens, std::string local_key,
                uid_t own_uid);

  // UNAUTHENTICATED names what is missing or wrong, and what helps; never a secret.
  absl::StatusOr<Caller> Identify(const Presented& presented, std::int64_t now_micros);

 private:
  absl::StatusOr<Caller> ByToken(const Presented& presented, std::int64_t now_micros);
  absl::StatusOr<Caller> ByLocalToken(const std::string& token, std::int64_t now_micros) const;
  absl::StatusOr<Caller> ByCertificate(const Presented& presented, std::int64_t now_micros);
  absl::StatusOr<Caller> ByTransport(Transport transport) const;
  Caller LocalCaller(uid_t uid) const;

  const AuthOptions options_;
  TokenStore& tokens_;
  const std::string local_key_;
  const uid_t own_uid_;
  const std::string own_name_;
};

}  // namespace kbench::server::auth
