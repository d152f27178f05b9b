#include "worker/runner/calibration_frame.h"

namespace kbench {

void SetCalibration(const kb_calibration& from, v1::Calibration* to) {
  to->set_passed(from.passed != 0);
  to->set_failed_step(from.failed_step);
  to->set_message(from.message);
  to->set_event_floor_seconds(from.event_floor_seconds);
  to->set_null_kernel_seconds(from.null_kernel_seconds);
  to->set_quantum_seconds(from.quantum_seconds);
  to->set_timer_tick_seconds(from.timer_tick_seconds);
  to->set_event_cost_seconds(from.event_cost_seconds);
  for (int i = 0; i < from.known_count; ++i) {
    v1::KnownDuration* known = to->add_known_durations();
    known->set_expected_seconds(from.known_expected_seconds[i]);
    known->set_measured_seconds(from.known_measured_seconds[i]);
    known->set_allowed_seconds(from.known_allowed_seconds[i]);
  }
  to->set_flush_bytes(from.flush_bytes);
  to->set_flush_cold_ratio(from.flush_cold_ratio);
  to->set_read_bandwidth(from.read_bandwidth);
  to->set_write_bandwidth(from.write_bandwidth);
  to->set_copy_bandwidth(from.copy_bandwidth);
}

}  // namespace kbench
