// What `kbench-server init`, `renew`, `invite` and `tokens` do to the configuration folder: the
// authority, the server's certificate, the configuration file, the file of tokens. Used from one
// thread; several commands at once are safe.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/auth/roles.h"
#include "server/auth/tokens.h"

namespace kbench::server::auth {

inline constexpr int kAuthorityDays = 3650;
inline constexpr int kServerDays = 365;

// Where the parts lie below the folder.
struct SetupPaths {
  std::string dir;
  std::string config() const { return dir + "/server.toml"; }
  std::string tokens() const { return dir + "/tokens"; }
  std::string tls_dir() const { return dir + "/tls"; }
  std::string ca_certificate() const { return tls_dir() + "/ca.crt"; }
  std::string ca_key() const { return tls_dir() + "/ca.key"; }
  // Key and certificate in one file, which is replaced in one step.
  std::string server() const { return tls_dir() + "/server.pem"; }
};

// $XDG_CONFIG_HOME/kbench; without the variable /etc/kbench for root, ~/.config/kbench for others.
std::string ServerConfigDir();

struct InitOptions {
  std::vector<std::string> hosts = {};  // empty: host name, FQDN, addresses; loopback always
  std::string listen = "0.0.0.0:7600";
  bool force = false;
};
// Returns the hosts of the certificate. ALREADY_EXISTS names the files that would be overwritten.
absl::StatusOr<std::vector<std::string>> Initialize(const std::string& dir,
                                                    const InitOptions& options);

// A new server certificate of the same authority. Without hosts: for the same as before.
absl::StatusOr<std::vector<std::string>> Renew(const std::string& dir,
                                               std::vector<std::string> hosts);

struct InviteOptions {
  std::string owner = {};
  Role role = Role::kSubmitter;
  int days = 90;             // 0: without end
  bool certificate = false;  // mutual TLS instead of a token
  std::vector<std::string> addresses =
      {};  // empty: the names of the certificate, the port of `listen`
};
struct Invited {
  std::string line;  // for the person alone: it holds the secret
  Token token;
};
absl::StatusOr<Invited> Invite(const std::string& dir, const InviteOptions& options);

// The file of tokens that the configuration in the folder names.
absl::StatusOr<std::string> TokensPath(const std::string& dir);
// The values of a key of the configuration file at `path`; none where file or key are not there.
absl::StatusOr<std::vector<std::string>> ConfigValues(const std::string& path,
                                                      const std::string& key);

}  // namespace kbench::server::auth
