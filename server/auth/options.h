// How the coordinator knows who calls: what the configuration says about it. A value.
#pragma once

#include <cstdint>
#include <string>

#include "server/auth/roles.h"

namespace kbench::server::auth {

struct AuthOptions {
  // TLS for every HOST:PORT; empty: none. Both may be one file.
  std::string tls_certificate = {};  // PEM: the certificate and what it is signed by
  std::string tls_key = {};          // empty: in tls_certificate
  std::string tls_client_ca = {};    // PEM: who signs client certificates; empty: none are taken
  std::string tokens = {};           // the file of `invite`; empty: there are none
  // Beyond loopback without TLS, where everybody on the way can read and forge.
  bool insecure = false;
  // The Unix sockets are for every user of this machine, who is asked for by SO_PEERCRED.
  bool share_socket = false;
  Role local_role = Role::kSubmitter;      // of those users; the server's own and root are admins
  Role anonymous_role = Role::kSubmitter;  // of whoever calls over TCP without TLS; kNone: refused
  std::string audit_log = {};              // empty: DATA_DIR/audit.log
  std::int64_t audit_bytes = 16 << 20;     // of one file; three older ones are kept

  bool uses_tls() const { return !tls_certificate.empty(); }
};

}  // namespace kbench::server::auth
