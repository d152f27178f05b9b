#include "server/auth/authenticator.h"

#include <grpc/grpc_security_constants.h>

#include <utility>

#include "fmt/format.h"
#include "proto/support/error.h"
#include "proto/support/paths.h"
#include "proto/support/user_name.h"
#include "server/auth/certificates.h"
#include "server/auth/crypto.h"
#include "server/auth/peer.h"

namespace kbench::server::auth {
namespace {

constexpr char kScheme[] = "Bearer ";
constexpr std::size_t kSchemeBytes = sizeof(kScheme) - 1;
constexpr std::size_t kMostTokenBytes = 512;
constexpr std::size_t kShownBytes = 8;  // of a fingerprint

absl::Status Refuse(const std::string& message, const char* reason) {
  return MakeError(absl::StatusCode::kUnauthenticated, message, {.reason = reason});
}

std::string First(const grpc::AuthContext& context, const char* property) {
  const auto values = context.FindPropertyValues(property);
  return values.empty() ? "" : std::string(values[0].data(), values[0].size());
}

// An account may be called what no owner is ("LAB\\ana"): then it goes by its number.
std::string LocalOwner(uid_t uid) {
  std::string name = UserName(uid);
  return CheckOwner(name).ok() ? name : fmt::format("uid{}", uid);
}

bool IsBearer(const std::string& header) {
  if (header.size() <= kSchemeBytes || header.size() > kMostTokenBytes) return false;
  for (std::size_t i = 0; i < kSchemeBytes; ++i) {  // the scheme's case does not count
    if ((header[i] | 0x20) != (kScheme[i] | 0x20)) return false;
  }
  return true;
}

}  // namespace

Presented PresentedBy(const grpc::ServerContextBase& context) {
  Presented presented;
  const auto& metadata = context.client_metadata();
  const auto [first, last] = metadata.equal_range("authorization");
  for (auto header = first; header != last; ++header) {
    presented.authorization.emplace_back(header->second.data(), header->second.size());
  }
  const std::string peer = context.peer();
  const auto auth = context.auth_context();
  const std::string security =
      auth == nullptr ? "" : First(*auth, GRPC_TRANSPORT_SECURITY_TYPE_PROPERTY_NAME);
  if (peer.rfind("unix:", 0) == 0) {
    presented.transport = Transport::kUnix;
  } else if (security == GRPC_SSL_TRANSPORT_SECURITY_TYPE ||
             security == GRPC_TLS_TRANSPORT_SECURITY_TYPE) {
    presented.transport = Transport::kTls;
    presented.certificate = First(*auth, GRPC_X509_PEM_CERT_PROPERTY_NAME);
    presented.common_name = First(*auth, GRPC_X509_CN_PROPERTY_NAME);
    for (const auto& uri : auth->FindPropertyValues(GRPC_PEER_URI_PROPERTY_NAME)) {
      presented.uris.emplace_back(uri.data(), uri.size());
    }
  } else {
    const bool loopback = peer.rfind("ipv4:127.", 0) == 0 || peer.rfind("ipv6:[::1]", 0) == 0 ||
                          peer.rfind("ipv6:%5B::1%5D", 0) == 0;
    presented.transport = loopback ? Transport::kPlainLoopback : Transport::kPlainNetwork;
  }
  return presented;
}

Authenticator::Authenticator(const AuthOptions& options, TokenStore& tokens, std::string local_key,
                             uid_t own_uid)
    : options_(options),
      tokens_(tokens),
      local_key_(std::move(local_key)),
      own_uid_(own_uid),
      own_name_(LocalOwner(own_uid)) {}

absl::StatusOr<Caller> Authenticator::Identify(const Presented& presented,
                                               std::int64_t now_micros) {
  if (!presented.authorization.empty()) return ByToken(presented, now_micros);
  if (!presented.certificate.empty()) return ByCertificate(presented, now_micros);
  return ByTransport(presented.transport);
}

absl::StatusOr<Caller> Authenticator::ByToken(const Presented& presented, std::int64_t now_micros) {
  if (presented.transport == Transport::kPlainNetwork) {
    return Refuse(
        "a token came over the network without TLS, where anybody can have read it: revoke it "
        "(kbench-server tokens revoke), and connect to a coordinator with TLS",
        "TOKEN_IN_THE_CLEAR");
  }
  if (presented.authorization.size() != 1 || !IsBearer(presented.authorization[0])) {
    return Refuse("the header authorization is malformed; write one: authorization: Bearer TOKEN",
                  "MALFORMED_CREDENTIALS");
  }
  const std::string token = presented.authorization[0].substr(kSchemeBytes);
  if (LooksLikeLocalToken(token)) {
    if (presented.transport != Transport::kUnix || !options_.share_socket) {
      return Refuse("this token is for the Unix socket of the machine that made it", "WRONG_PLACE");
    }
    return ByLocalToken(token, now_micros);
  }
  const auto known = tokens_.Find(Sha256Hex(token));
  if (!known.has_value() || known->certificate) {
    return Refuse(
        "the token is not known here; ask an admin for a line (kbench-server invite) and join",
        "UNKNOWN_CREDENTIALS");
  }
  KB_RETURN_IF_ERROR(CheckUsable(*known, now_micros));
  Caller caller;
  caller.owner = known->owner;
  caller.role = known->role;
  caller.credential = "token " + known->id;
  caller.credential_id = known->id;
  caller.expire_micros = known->expire_micros;
  caller.verified = true;
  return caller;
}

absl::StatusOr<Caller> Authenticator::ByLocalToken(const std::string& token,
                                                   std::int64_t now_micros) const {
  const auto user = CheckLocalToken(local_key_, token, now_micros);
  if (!user.has_value() || user->expired) {
    return Refuse(
        "the token of the Unix socket has expired or is not from this coordinator; ask "
        "its .id socket again",
        user.has_value() ? "EXPIRED_CREDENTIALS" : "UNKNOWN_CREDENTIALS");
  }
  Caller caller = LocalCaller(user->uid);
  caller.expire_micros = user->expire_micros;
  if (caller.role == Role::kNone) {
    return Refuse("local users have no role here; ask an admin for a line (kbench-server invite)",
                  "NO_CREDENTIALS");
  }
  return caller;
}

Caller Authenticator::LocalCaller(uid_t uid) const {
  Caller caller;
  caller.owner = uid == own_uid_ ? own_name_ : LocalOwner(uid);  // the latter reads a file
  caller.role = uid == own_uid_ || uid == 0 ? Role::kAdmin : options_.local_role;
  caller.credential = fmt::format("local user {}", uid);
  caller.verified = true;
  return caller;
}

absl::StatusOr<Caller> Authenticator::ByCertificate(const Presented& presented,
                                                    std::int64_t now_micros) {
  KB_ASSIGN_OR_RETURN(const CertificateFacts facts, ReadCertificate(presented.certificate));
  const auto known = tokens_.Find(facts.fingerprint);
  if (known.has_value()) KB_RETURN_IF_ERROR(CheckUsable(*known, now_micros));
  // What `invite` has signed has a line that says whether it was revoked. Where the line is gone,
  // nobody knows, and it may have been.
  if (!known.has_value() && facts.of_kbench) {
    return Refuse(
        "the client certificate is not among the credentials known here, so nobody can tell "
        "whether it was revoked; ask an admin for a line (kbench-server invite --certificate) and "
        "join, or to put the file of tokens back",
        "UNKNOWN_CREDENTIALS");
  }
  Role role = Role::kNone;
  for (const std::string& uri : presented.uris) {
    if (role == Role::kNone) role = RoleOfUri(uri);
  }
  if (role == Role::kNone || !CheckOwner(presented.common_name).ok()) {
    return Refuse(
        "the client certificate names no owner (CN) or no role (a URI kbench://role/ROLE among its "
        "alternative names); make one with: kbench-server invite --certificate",
        "MALFORMED_CREDENTIALS");
  }
  Caller caller;
  caller.owner = presented.common_name;
  caller.role = role;
  caller.credential =
      "certificate " + (known.has_value() ? known->id : facts.fingerprint.substr(0, kShownBytes));
  caller.credential_id = known.has_value() ? known->id : "";
  caller.expire_micros = facts.not_after_micros;
  caller.verified = true;
  return caller;
}

absl::StatusOr<Caller> Authenticator::ByTransport(Transport transport) const {
  if (transport == Transport::kUnix && !options_.share_socket) {
    // The socket's mode lets in its owner and root: whoever is here is one of the two.
    Caller caller = LocalCaller(own_uid_);
    caller.credential = "private socket";
    caller.says_owner = true;
    return caller;
  }
  const bool plain =
      transport == Transport::kPlainLoopback || transport == Transport::kPlainNetwork;
  if (plain && options_.anonymous_role != Role::kNone) {
    Caller caller;
    caller.role = options_.anonymous_role;
    caller.credential = "not verified";
    caller.says_owner = true;
    return caller;
  }
  return Refuse(
      transport == Transport::kUnix
          ? "the call says not who you are; kbench-client asks the socket beside this one (.id), "
            "other programs send its answer as authorization: Bearer TOKEN"
          : "the call brings no credentials; ask an admin for a line (kbench-server invite), then: "
            "kbench-client join LINE; programs send authorization: Bearer TOKEN",
      "NO_CREDENTIALS");
}

}  // namespace kbench::server::auth
