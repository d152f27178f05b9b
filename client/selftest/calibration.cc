// The lines about a device's calibration.
#include <fmt/format.h>

#include <cmath>

#include "client/output/units.h"
#include "client/selftest/checks.h"

namespace kbench::client::selftest {
namespace {

using kbench::v1::Calibration;
using kbench::v1::Device;

constexpr int kFewCanaries = 5;  // below, a prior stands in (kbench.v1.Calibration)
constexpr double kBeyondDatasheet = 1.05;
constexpr double kColdAgainstHot = 1.05;

State Holds(bool holds) { return holds ? State::kPass : State::kFail; }

Check Overall(const Calibration& calibration) {
  if (calibration.passed()) {
    return {"calibration", State::kPass, fmt::format("passed ({:.1f} s)", calibration.seconds())};
  }
  if (calibration.failed_step().empty()) {
    return {"calibration", State::kFail, "the worker has not sent one; is it still calibrating?"};
  }
  return {"calibration", State::kFail,
          "failed at " + calibration.failed_step() + ": " + calibration.message()};
}

Check Stopwatch(const Calibration& calibration) {
  if (!(calibration.null_kernel_seconds() > 0)) {
    return {"stopwatch", State::kNote, "its floor was not measured on this device"};
  }
  return {"stopwatch", State::kNote,
          fmt::format("reads {} around nothing and {} around an empty kernel, in steps of {}",
                      FormatSeconds(calibration.event_floor_seconds()),
                      FormatSeconds(calibration.null_kernel_seconds()),
                      FormatSeconds(calibration.quantum_seconds()))};
}

Check EventCost(const Calibration& calibration) {
  return {"event cost", State::kNote,
          fmt::format("a pair of events adds {} to a real kernel; it is told, never subtracted",
                      FormatSeconds(calibration.event_cost_seconds()))};
}

Check Known(const kbench::v1::KnownDuration& known) {
  const double off = std::fabs(known.measured_seconds() - known.expected_seconds());
  return {
      "known duration", Holds(off <= known.allowed_seconds()),
      fmt::format("{} by the device's own timer was measured as {} (may differ by {})",
                  FormatSeconds(known.expected_seconds()), FormatSeconds(known.measured_seconds()),
                  FormatSeconds(known.allowed_seconds()))};
}

Check Flush(const Calibration& calibration) {
  if (!(calibration.flush_cold_ratio() > 0)) {
    return {"flush", State::kNote, "was not measured on this device"};
  }
  std::string text = fmt::format("after it a read takes {:.2f} times as long as from the cache",
                                 calibration.flush_cold_ratio());
  if (calibration.flush_bytes() > 0) {  // a CPU evicts line by line: there is no such buffer
    text += "; it touches twice " + FormatSize(static_cast<double>(calibration.flush_bytes()));
  }
  return {"flush", Holds(calibration.flush_cold_ratio() > kColdAgainstHot), text};
}

Check Memory(const Device& device) {
  const Calibration& calibration = device.calibration();
  if (!(calibration.copy_bandwidth() > 0)) {
    return {"memory", State::kNote, "its roofs were not measured on this device"};
  }
  std::string text = fmt::format(
      "reads {}, writes {}, copies {}", FormatBytes(calibration.read_bandwidth()),
      FormatBytes(calibration.write_bandwidth()), FormatBytes(calibration.copy_bandwidth()));
  if (!(device.peak_bandwidth() > 0)) return {"memory", State::kNote, text};
  text += fmt::format("; its datasheet says {}", FormatBytes(device.peak_bandwidth()));
  return {"memory",
          Holds(calibration.read_bandwidth() <= kBeyondDatasheet * device.peak_bandwidth()), text};
}

Check Arithmetic(const Calibration& calibration) {
  std::string text;
  for (const auto& [dtype, flops] : calibration.matmul_flops()) {
    text += (text.empty() ? "" : ", ") + dtype + " " + FormatFlops(flops);
  }
  return {"matmul", State::kNote, text.empty() ? "its roofs were not measured" : text};
}

Check Canaries(const Calibration& calibration) {
  if (calibration.canaries() < kFewCanaries) {
    return {"sessions", State::kNote,
            fmt::format("{} so far: a spread of 0.3% between sessions is taken until "
                        "there are {}",
                        FormatCount(calibration.canaries(), "canary", "canaries"), kFewCanaries)};
  }
  return {"sessions", State::kNote,
          fmt::format("medians spread by {} between sessions ({})",
                      FormatPercent(calibration.between_session_ratio()),
                      FormatCount(calibration.canaries(), "canary", "canaries"))};
}

}  // namespace

std::vector<Check> CalibrationChecks(const Device& device) {
  const Calibration& calibration = device.calibration();
  std::vector<Check> checks = {Overall(calibration)};
  if (!device.has_calibration()) return checks;
  checks.push_back(Stopwatch(calibration));
  if (calibration.event_cost_seconds() > 0) checks.push_back(EventCost(calibration));
  for (const auto& known : calibration.known_durations()) checks.push_back(Known(known));
  checks.push_back(Flush(calibration));
  checks.push_back(Memory(device));
  checks.push_back(Arithmetic(calibration));
  checks.push_back(Canaries(calibration));
  return checks;
}

}  // namespace kbench::client::selftest
