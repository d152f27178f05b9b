#include "proto/support/clock.h"

#include <chrono>
#include <cmath>

namespace kbench {
namespace {

class RealClock final : public Clock {
 public:
  int64_t WallMicros() const override {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
  }
  double SteadySeconds() const override {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
};

}  // namespace

Clock& SystemClock() {
  static RealClock clock;
  return clock;
}

google::protobuf::Timestamp ToTimestamp(int64_t wall_micros) {
  google::protobuf::Timestamp time;
  time.set_seconds(wall_micros / 1'000'000);
  time.set_nanos(static_cast<int32_t>(wall_micros % 1'000'000) * 1000);
  return time;
}

int64_t ToMicros(const google::protobuf::Timestamp& time) {
  return time.seconds() * 1'000'000 + time.nanos() / 1000;
}

google::protobuf::Duration ToDuration(double seconds) {
  google::protobuf::Duration duration;
  const double whole = std::trunc(seconds);
  duration.set_seconds(static_cast<int64_t>(whole));
  duration.set_nanos(static_cast<int32_t>((seconds - whole) * 1e9));
  return duration;
}

double ToSeconds(const google::protobuf::Duration& duration) {
  return static_cast<double>(duration.seconds()) + static_cast<double>(duration.nanos()) * 1e-9;
}

}  // namespace kbench
