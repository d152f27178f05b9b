// Addresses to listen on, checked before gRPC sees them, so that each failure is one clear line.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/auth/options.h"

namespace kbench::server {

// A normalized address ready for AddListeningPort: TCP beyond loopback only with TLS, or where
// --insecure says so; for a Unix socket the folder is made (0700; 0755 where users share the
// socket), a live server is detected and a stale socket removed.
absl::StatusOr<std::string> PrepareAddress(const std::string& address,
                                           const auth::AuthOptions& access = {});

// OK for a HOST:PORT on loopback, where alone /metrics is served.
absl::Status CheckMetricsAddress(const std::string& address);

}  // namespace kbench::server
