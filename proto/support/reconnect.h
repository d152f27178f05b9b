// The pause between two tries on a channel whose coordinator went away.
#pragma once

#include <functional>

#include "grpcpp/channel.h"

namespace kbench {

// Waits `seconds`, less where the channel is connected before; false as soon as `stopped` says so
// (asked twenty times a second). A channel that is connected already has its pause to the end: its
// calls fail for another reason. Call it in place of a sleep: a channel makes progress only while
// some thread waits in gRPC. Beside calls that fail at once it would be polled every 5 s, which is
// slower than the 10 s that a connection may take: TLS needs four rounds. Thread-safe.
bool PauseForConnection(grpc::ChannelInterface& channel, double seconds,
                        const std::function<bool()>& stopped);

}  // namespace kbench
