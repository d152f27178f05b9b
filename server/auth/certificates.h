// Certificates of a small authority of one's own: EC P-256 keys, through libcrypto. Everything is
// PEM text; nothing touches a file. Thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/auth/roles.h"

namespace kbench::server::auth {

struct KeyPair {
  std::string key;          // PEM, PKCS #8
  std::string certificate;  // PEM
};

// How the name of an authority of `kbench-server init` begins: whatever it signs is written down.
inline constexpr char kAuthorityPrefix[] = "kbench authority of ";

// Signs others for `days`; its path length is 0.
absl::StatusOr<KeyPair> MakeAuthority(const std::string& name, int days);
// For a server that is known by these host names and IP addresses.
absl::StatusOr<KeyPair> MakeServerCertificate(const KeyPair& authority,
                                              const std::vector<std::string>& hosts, int days);
// For a caller: the subject's CN is the owner, the URI among its alternative names the role.
absl::StatusOr<KeyPair> MakeClientCertificate(const KeyPair& authority, const std::string& owner,
                                              Role role, int days);

// The URI that stands for a role, and the role of such a URI (kNone: it is none).
std::string RoleUri(Role role);
Role RoleOfUri(const std::string& uri);

struct CertificateFacts {
  std::string fingerprint;  // SHA-256 of the DER form, hex
  std::string common_name;
  std::vector<std::string> hosts;  // DNS names and addresses
  bool of_kbench = false;          // signed by an authority of that prefix
  std::int64_t not_after_micros = 0;
};
// Of the first certificate of the text.
absl::StatusOr<CertificateFacts> ReadCertificate(const std::string& pem);

// FAILED_PRECONDITION unless the private key is the certificate's.
absl::Status CheckKeyBelongs(const std::string& key_pem, const std::string& certificate_pem);

// OK for a host name or an IP address that may stand in a certificate.
absl::Status CheckHost(const std::string& host);

}  // namespace kbench::server::auth
