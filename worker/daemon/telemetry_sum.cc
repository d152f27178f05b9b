#include "worker/daemon/telemetry_sum.h"

#include <algorithm>

namespace kbench {
namespace {

double LowerKnown(double a, double b) { return a <= 0 ? b : b <= 0 ? a : std::min(a, b); }

}  // namespace

void TelemetrySum::Add(const v1::Telemetry& telemetry, double seconds, double launches) {
  seconds_ += seconds;
  sum_.set_sm_clock_hertz(sum_.sm_clock_hertz() + telemetry.sm_clock_hertz() * seconds);
  sum_.set_memory_clock_hertz(sum_.memory_clock_hertz() + telemetry.memory_clock_hertz() * seconds);
  sum_.set_power_watts(sum_.power_watts() + telemetry.power_watts() * seconds);
  sum_.set_steal_ratio(sum_.steal_ratio() + telemetry.steal_ratio() * seconds);
  sum_.set_load(sum_.load() + telemetry.load() * seconds);
  if (telemetry.foreign_utilization() < 0) {
    untold_ = true;
  } else {
    told_seconds_ += seconds;
    sum_.set_foreign_utilization(sum_.foreign_utilization() +
                                 telemetry.foreign_utilization() * seconds);
  }
  if (telemetry.energy_joules() > 0 && launches > 0) {
    peak_.set_energy_joules(peak_.energy_joules() + telemetry.energy_joules());
    energy_launches_ += launches;
  }
  peak_.set_temperature_celsius(
      std::max(peak_.temperature_celsius(), telemetry.temperature_celsius()));
  peak_.set_foreign_processes(std::max(peak_.foreign_processes(), telemetry.foreign_processes()));
  peak_.set_busy_mig_siblings(std::max(peak_.busy_mig_siblings(), telemetry.busy_mig_siblings()));
  peak_.set_ecc_errors(peak_.ecc_errors() + telemetry.ecc_errors());
  peak_.set_sm_clock_low_hertz(
      LowerKnown(peak_.sm_clock_low_hertz(), telemetry.sm_clock_low_hertz()));
  peak_.set_sm_clock_high_hertz(
      std::max(peak_.sm_clock_high_hertz(), telemetry.sm_clock_high_hertz()));
  for (const auto& [reason, spent] : telemetry.throttle_seconds()) {
    (*peak_.mutable_throttle_seconds())[reason] += spent;
  }
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
  // One round in the dark leaves the whole unknown: they may have computed just then.
  mean.set_foreign_utilization(
      untold_ || told_seconds_ <= 0 ? -1 : sum_.foreign_utilization() / told_seconds_);
  if (energy_launches_ > 0) {
    mean.set_energy_joules_per_launch(peak_.energy_joules() / energy_launches_);
  }
  for (const std::string& reason : reasons_) mean.add_throttle_reasons(reason);
  return mean;
}

}  // namespace kbench
