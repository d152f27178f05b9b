#include "worker/daemon/telemetry_sum.h"

#include <algorithm>

namespace kbench {

void TelemetrySum::Add(const v1::Telemetry& telemetry, double seconds) {
  seconds_ += seconds;
  sum_.set_sm_clock_hertz(sum_.sm_clock_hertz() + telemetry.sm_clock_hertz() * seconds);
  sum_.set_memory_clock_hertz(sum_.memory_clock_hertz() + telemetry.memory_clock_hertz() * seconds);
  sum_.set_power_watts(sum_.power_watts() + telemetry.power_watts() * seconds);
  sum_.set_steal_ratio(sum_.steal_ratio() + telemetry.steal_ratio() * seconds);
  sum_.set_load(sum_.load() + telemetry.load() * seconds);
  peak_.set_temperature_celsius(
      std::max(peak_.temperature_celsius(), telemetry.temperature_celsius()));
  peak_.set_foreign_processes(std::max(peak_.foreign_processes(), telemetry.foreign_processes()));
  reasons_.insert(telemetry.throttle_reasons().begin(), telemetry.throttle_reasons().end());
}

v1::Telemetry TelemetrySum::Mean() const {
  v1::Telemetry mean = peak_;
  if (seconds_ <= 0) return mean;
  mean.set_sm_clock_hertz(sum_.sm_clock_hertz() / seconds_);
  mean.set_memory_clock_hertz(sum_.memory_clock_hertz() / seconds_);
  mean.set_power_watts(sum_.power_watts() / seconds_);
  mean.set_steal_ratio(sum_.steal_ratio() / seconds_);
  mean.set_load(sum_.load() / seconds_);
  for (const std::string& reason : reasons_) mean.add_throttle_reasons(reason);
  return mean;
}

}  // namespace kbench
