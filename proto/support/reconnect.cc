#include "proto/support/reconnect.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "proto/support/clock.h"

namespace kbench {
namespace {

constexpr double kSliceSeconds = 0.05;

std::chrono::microseconds Micros(double seconds) {
  return std::chrono::microseconds(static_cast<std::int64_t>(seconds * 1e6));
}

}  // namespace

bool PauseForConnection(grpc::ChannelInterface& channel, double seconds,
                        const std::function<bool()>& stopped) {
  const double end = SystemClock().SteadySeconds() + seconds;
  const grpc_connectivity_state before = channel.GetState(true);
  // A channel within the process has no connection: gRPC calls it shut down.
  const bool watch = before != GRPC_CHANNEL_READY && before != GRPC_CHANNEL_SHUTDOWN;
  while (!stopped()) {
    const double left = end - SystemClock().SteadySeconds();
    if (left <= 0) return true;
    const auto slice = Micros(std::min(left, kSliceSeconds));
    if (!watch) {
      std::this_thread::sleep_for(slice);
    } else if (channel.WaitForConnected(std::chrono::system_clock::now() + slice)) {
      return !stopped();
    }
  }
  return false;
}

}  // namespace kbench
