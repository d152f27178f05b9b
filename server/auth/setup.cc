#include "server/auth/setup.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include "fmt/format.h"
#include "proto/support/clock.h"
#include "proto/support/config_text.h"
#include "proto/support/credentials.h"
#include "proto/support/error.h"
#include "proto/support/ids.h"
#include "proto/support/paths.h"
#include "proto/support/private_file.h"
#include "server/auth/certificates.h"
#include "server/auth/crypto.h"
#include "server/auth/hosts.h"

namespace kbench::server::auth {
namespace {

constexpr char kSystemDir[] = "/etc/kbench";
constexpr int kIdLetters = 8;
constexpr std::size_t kMostAddresses = 6;
constexpr std::int64_t kDayMicros = std::int64_t{86'400} * 1'000'000;

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

absl::StatusOr<KeyPair> ReadAuthority(const SetupPaths& paths) {
  KeyPair authority{ReadFile(paths.ca_key()), ReadFile(paths.ca_certificate())};
  if (!authority.key.empty() && !authority.certificate.empty()) return authority;
  return MakeError(absl::StatusCode::kFailedPrecondition,
                   fmt::format("there is no authority in {} that this user may read; make one with "
                               "`kbench-server init`, or name its folder with --config-dir",
                               paths.tls_dir()),
                   {.reason = "NOT_INITIALIZED"});
}

std::vector<std::string> WithLoopback(std::vector<std::string> hosts) {
  for (const std::string& host : LoopbackHosts()) {
    if (std::find(hosts.begin(), hosts.end(), host) == hosts.end()) hosts.push_back(host);
  }
  return hosts;
}

absl::Status WriteServerCertificate(const SetupPaths& paths, const KeyPair& authority,
                                    const std::vector<std::string>& hosts) {
  KB_ASSIGN_OR_RETURN(const KeyPair server, MakeServerCertificate(authority, hosts, kServerDays));
  return WritePrivateFile(paths.server(), server.key + server.certificate);
}

std::string ConfigText(const SetupPaths& paths, const std::string& listen) {
  const bool system = paths.dir == kSystemDir;
  const std::string socket = system ? "/run/kbench/kbench.sock" : DefaultSocketPath();
  const std::string data =
      system ? "data-dir = \"/var/lib/kbench\"\n" : "# data-dir = \"" + DataDir() + "\"\n";
  return fmt::format(
      R"(# The configuration of kbench-server. A key is the name of a flag (kbench-server --help); flags win.

# Where it listens. Every HOST:PORT speaks TLS with the certificate below.
listen = ["{listen}", "unix:{socket}"]

# Prometheus scrapes here, over plain HTTP: loopback only.
metrics-listen = "127.0.0.1:7601"

# Where jobs and results are kept.
{data}
# Made by `kbench-server init`, made anew by `kbench-server renew`; read again when the file changes.
tls-certificate = "{server}"
# Who signs the certificates of `kbench-server invite --certificate`.
tls-client-ca = "{ca}"
# Whom `kbench-server invite` has let in; read again when the file changes.
tokens = "{tokens}"

# Let every user of this machine connect to the Unix socket, each as who they are:
# share-socket = true
# What they may: none, viewer, submitter, code, worker or admin.
# local-role = "submitter"
)",
      fmt::arg("listen", listen), fmt::arg("socket", socket), fmt::arg("data", data),
      fmt::arg("server", paths.server()), fmt::arg("ca", paths.ca_certificate()),
      fmt::arg("tokens", paths.tokens()));
}

absl::StatusOr<std::vector<std::string>> AddressesOf(const SetupPaths& paths) {
  KB_ASSIGN_OR_RETURN(const auto listen, ConfigValues(paths.config(), "listen"));
  std::string port;
  for (const std::string& one : listen) {
    const auto normalized = NormalizeAddress(one);
    if (!normalized.ok() || normalized->rfind("unix:", 0) == 0 || !port.empty()) continue;
    port = normalized->substr(normalized->rfind(':') + 1);
  }
  if (port.empty()) {
    return MakeError(absl::StatusCode::kFailedPrecondition,
                     paths.config() +
                         " names no HOST:PORT under listen; say where the coordinator "
                         "is to be found with --address",
                     {.reason = "NO_ADDRESS"});
  }
  KB_ASSIGN_OR_RETURN(const CertificateFacts facts, ReadCertificate(ReadFile(paths.server())));
  std::vector<std::string> addresses;
  std::vector<std::string> loopback;
  for (const std::string& host : facts.hosts) {
    const bool local = IsLoopbackHost(host) || host == "0:0:0:0:0:0:0:1";
    (local ? loopback : addresses).push_back(HostAndPort(host, port));
  }
  if (addresses.empty()) addresses = loopback;
  addresses.resize(std::min(addresses.size(), kMostAddresses));
  return addresses;
}

}  // namespace

std::string ServerConfigDir() {
  const char* xdg = std::getenv("XDG_CONFIG_HOME");
  const bool given = xdg != nullptr && xdg[0] == '/';
  return geteuid() == 0 && !given ? kSystemDir : ConfigDir();
}

absl::StatusOr<std::vector<std::string>> ConfigValues(const std::string& path,
                                                      const std::string& key) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return std::vector<std::string>();
  KB_ASSIGN_OR_RETURN(const auto entries, ReadConfigFile(path));
  for (const ConfigEntry& entry : entries) {
    if (entry.section.empty() && entry.key == key) return entry.values;
  }
  return std::vector<std::string>();
}

absl::StatusOr<std::vector<std::string>> Initialize(const std::string& dir,
                                                    const InitOptions& options) {
  const SetupPaths paths{dir};
  std::vector<std::string> there;
  for (const std::string& path :
       {paths.config(), paths.ca_certificate(), paths.ca_key(), paths.server()}) {
    std::error_code error;
    if (std::filesystem::exists(path, error)) there.push_back(path);
  }
  if (!there.empty() && !options.force) {
    return MakeError(absl::StatusCode::kAlreadyExists,
                     fmt::format("{} would be overwritten, and whoever has joined would have to "
                                 "join again; --force does it, `kbench-server renew` makes a new "
                                 "certificate only",
                                 fmt::join(there, ", ")),
                     {.reason = "ALREADY_INITIALIZED"});
  }
  KB_RETURN_IF_ERROR(NormalizeAddress(options.listen).status());
  const std::vector<std::string> hosts =
      WithLoopback(options.hosts.empty() ? OwnHosts() : options.hosts);
  for (const std::string& host : hosts) KB_RETURN_IF_ERROR(CheckHost(host));
  KB_ASSIGN_OR_RETURN(const KeyPair authority,
                      MakeAuthority(kAuthorityPrefix + hosts.front(), kAuthorityDays));
  KB_RETURN_IF_ERROR(MakePrivateDir(paths.dir));
  KB_RETURN_IF_ERROR(MakePrivateDir(paths.tls_dir()));
  KB_RETURN_IF_ERROR(WritePrivateFile(paths.ca_key(), authority.key));
  KB_RETURN_IF_ERROR(WritePrivateFile(paths.ca_certificate(), authority.certificate));
  KB_RETURN_IF_ERROR(WriteServerCertificate(paths, authority, hosts));
  KB_RETURN_IF_ERROR(WritePrivateFile(paths.config(), ConfigText(paths, options.listen)));
  return hosts;
}

absl::StatusOr<std::vector<std::string>> Renew(const std::string& dir,
                                               std::vector<std::string> hosts) {
  const SetupPaths paths{dir};
  KB_ASSIGN_OR_RETURN(const KeyPair authority, ReadAuthority(paths));
  if (hosts.empty()) {
    KB_ASSIGN_OR_RETURN(CertificateFacts facts, ReadCertificate(ReadFile(paths.server())));
    hosts = std::move(facts.hosts);
  }
  hosts = WithLoopback(std::move(hosts));
  KB_RETURN_IF_ERROR(WriteServerCertificate(paths, authority, hosts));
  return hosts;
}

absl::StatusOr<std::string> TokensPath(const std::string& dir) {
  const SetupPaths paths{dir};
  KB_ASSIGN_OR_RETURN(const auto named, ConfigValues(paths.config(), "tokens"));
  return named.empty() || named[0].empty() ? paths.tokens() : named[0];
}

absl::StatusOr<Invited> Invite(const std::string& dir, const InviteOptions& options) {
  const SetupPaths paths{dir};
  KB_RETURN_IF_ERROR(CheckOwner(options.owner));
  KB_ASSIGN_OR_RETURN(const std::string tokens, TokensPath(dir));
  Invitation invitation;
  invitation.addresses = options.addresses;
  for (std::string& address : invitation.addresses) {
    KB_ASSIGN_OR_RETURN(address, NormalizeAddress(address));
  }
  if (invitation.addresses.empty()) {
    KB_ASSIGN_OR_RETURN(invitation.addresses, AddressesOf(paths));
  }
  Credentials& given = invitation.credentials;
  given.ca = ReadFile(paths.ca_certificate());
  given.owner = options.owner;
  given.role = RoleName(options.role);
  Invited invited;
  Token& token = invited.token;
  token.id = RandomId(kIdLetters);
  token.owner = options.owner;
  token.role = options.role;
  token.created_micros = SystemClock().WallMicros();
  if (options.days > 0) token.expire_micros = token.created_micros + options.days * kDayMicros;
  if (options.certificate) {
    KB_ASSIGN_OR_RETURN(const KeyPair authority, ReadAuthority(paths));
    const int days = options.days > 0 ? options.days : kAuthorityDays;
    KB_ASSIGN_OR_RETURN(KeyPair pair,
                        MakeClientCertificate(authority, options.owner, options.role, days));
    KB_ASSIGN_OR_RETURN(const CertificateFacts facts, ReadCertificate(pair.certificate));
    token.certificate = true;
    token.hash = facts.fingerprint;
    token.expire_micros = facts.not_after_micros;
    given.certificate = std::move(pair.certificate);
    given.key = std::move(pair.key);
  } else {
    given.token = MakeTokenSecret();
    token.hash = Sha256Hex(given.token);
  }
  given.expire_seconds = token.expire_micros / 1'000'000;
  KB_RETURN_IF_ERROR(AddToken(tokens, token));
  invited.line = ToJoinLine(invitation);
  return invited;
}

}  // namespace kbench::server::auth
