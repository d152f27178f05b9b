// Channels with the settings every kbench program uses: TLS and credentials, no proxy, keepalive,
// 64 MiB messages, retries of UNAVAILABLE on idempotent calls. This is the one place that makes
// channels.
#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "grpcpp/channel.h"
#include "proto/support/credentials.h"

namespace kbench {

// `address` as NormalizeAddress gives it. A token travels with each call: over TLS, a Unix socket
// or loopback, and never in the clear over a network. On a Unix socket that several users share the
// channel asks who we are (local_identity.h), where there is no token.
std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address,
                                           const Credentials& credentials = {});

// Whether a call on such a channel proves who makes it; a Unix socket tells by itself.
bool TellsWho(const std::string& address, const Credentials& credentials);

// What gRPC says of a connection that could not be made, in words that help: the wrong authority, a
// name that is not in the certificate, TLS on one side only. OK when it is about something else.
absl::Status ExplainConnection(const std::string& grpc_message, const std::string& address);

}  // namespace kbench
