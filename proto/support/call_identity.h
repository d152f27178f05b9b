// The header "authorization: Bearer TOKEN" on every call of a channel. Interceptors, because gRPC's
// call credentials refuse any channel without TLS, Unix sockets too.
#pragma once

#include <memory>
#include <string>

#include "grpcpp/support/client_interceptor.h"

namespace kbench {

// One token for as long as the channel lives.
std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface> MakeTokenInterceptor(
    const std::string& token);
// Whoever the kernel says we are (local_identity.h); no header where nobody asks for one.
std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface> MakeLocalInterceptor(
    const std::string& socket_path);

}  // namespace kbench
