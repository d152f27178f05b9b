// The server's side of TLS. Thread-safe.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "grpcpp/security/server_credentials.h"
#include "server/auth/options.h"

namespace kbench::server::auth {

// Certificates are read again every second where the files change: new connections get the new
// one, those that stand live on. FAILED_PRECONDITION says what is wrong with the files now.
absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> MakeTlsCredentials(
    const AuthOptions& options);

}  // namespace kbench::server::auth
