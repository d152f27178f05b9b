// Time as an argument: wall time for stamps, steady time for durations. Tests pass a FakeClock.
// Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>

#include "google/protobuf/duration.pb.h"
#include "google/protobuf/timestamp.pb.h"

namespace kbench {

class Clock {
 public:
  virtual ~Clock() = default;
  // Wall time, microseconds since the epoch.
  virtual int64_t WallMicros() const = 0;
  // Never goes back; seconds since an arbitrary point.
  virtual double SteadySeconds() const = 0;
};

// The machine's clocks. Lives for ever.
Clock& SystemClock();

class FakeClock final : public Clock {
 public:
  explicit FakeClock(int64_t wall_micros = 1'700'000'000'000'000) : micros_(wall_micros) {}
  int64_t WallMicros() const override { return micros_.load(); }
  double SteadySeconds() const override { return static_cast<double>(micros_.load()) * 1e-6; }
  void Advance(double seconds) { micros_ += static_cast<int64_t>(seconds * 1e6); }

 private:
  std::atomic<int64_t> micros_;
};

google::protobuf::Timestamp ToTimestamp(int64_t wall_micros);
int64_t ToMicros(const google::protobuf::Timestamp& time);
google::protobuf::Duration ToDuration(double seconds);
double ToSeconds(const google::protobuf::Duration& duration);

}  // namespace kbench
