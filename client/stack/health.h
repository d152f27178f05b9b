// grpc.health.v1 as a client. Thread-safe.
#pragma once

#include <memory>

#include "grpcpp/channel.h"

namespace kbench::client {

// Whether the server at the other end says SERVING within `seconds`.
bool IsServing(const std::shared_ptr<grpc::ChannelInterface>& channel, double seconds);

}  // namespace kbench::client
