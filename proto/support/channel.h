// Channels with the settings every kbench program uses: no proxy, keepalive, 64 MiB messages,
// retries of UNAVAILABLE on idempotent calls.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "grpcpp/channel.h"

namespace kbench {

// `address` as NormalizeAddress gives it.
std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address);

}  // namespace kbench
