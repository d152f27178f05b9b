#include "worker/engine/calibration.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace kbench::engine {

namespace {

constexpr double kRoundoff = 1e-12;  // seconds: of sums and differences of times

}  // namespace

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : 0.5 * (values[half - 1] + values[half]);
}

double Quantum(std::vector<double> times, double noise_seconds) {
  std::sort(times.begin(), times.end());
  double smallest = 0;
  for (std::size_t i = 1; i < times.size(); ++i) {
    const double step = times[i] - times[i - 1];
    if (step > noise_seconds && (smallest == 0 || step < smallest)) smallest = step;
  }
  return smallest;
}

double AllowedError(double expected_seconds, double quantum_seconds, double tick_seconds) {
  return std::max({0.01 * expected_seconds, 2 * quantum_seconds, 2 * tick_seconds});
}

// The mean of the middle third. Both clocks tell whole ticks only, and which one a launch falls
// into is chance: a median is a whole tick too, this is not.
double MiddleMean(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t aside = (values.size() - 1) / 3;
  double sum = 0;
  for (std::size_t i = aside; i < values.size() - aside; ++i) sum += values[i];
  return sum / static_cast<double>(values.size() - 2 * aside);
}

double AddedByClock(const KnownDurationTimes& times) {
  std::vector<double> added;
  for (std::size_t i = 0; i < std::min(times.recorded.size(), times.measured.size()); ++i) {
    added.push_back(times.measured[i] - times.recorded[i]);
  }
  return MiddleMean(std::move(added));
}

bool CheckKnownDuration(const KnownDurationTimes& times, double cost_seconds, double tick_seconds,
                        kb_calibration* out) {
  const double expected = Median(times.recorded);
  const double measured = expected + AddedByClock(times) - cost_seconds;
  const double allowed = AllowedError(expected, out->quantum_seconds, tick_seconds);
  if (out->known_count < KB_KNOWN_DURATIONS) {
    const auto i = static_cast<std::size_t>(out->known_count++);
    out->known_expected_seconds[i] = expected;
    out->known_measured_seconds[i] = measured;
    out->known_allowed_seconds[i] = allowed;
  }
  if (expected > 0 && std::abs(measured - expected) <= allowed + kRoundoff) return true;
  FailStep("known-durations",
           "a kernel that ran for " + TimeText(expected) + " by its own timer was measured as " +
               TimeText(measured) + "; at most " + TimeText(allowed) + " of difference is right",
           out);
  return false;
}

FlushChoice ChooseFlush(const std::vector<FlushTime>& by_size, double hot_seconds) {
  if (by_size.empty()) return {};
  const auto as_cold_as_larger = [&](std::size_t i) {
    return std::all_of(by_size.begin() + static_cast<std::ptrdiff_t>(i) + 1, by_size.end(),
                       [&](const FlushTime& larger) {
                         return std::abs(by_size[i].cold_seconds - larger.cold_seconds) <=
                                kFlushAgreement * larger.cold_seconds;
                       });
  };
  std::size_t chosen = 0;
  while (!as_cold_as_larger(chosen)) ++chosen;  // the last one has no larger
  const double ratio = hot_seconds > 0 ? by_size[chosen].cold_seconds / hot_seconds : 0;
  return {by_size[chosen].bytes, ratio};
}

void FailStep(const std::string& step, const std::string& message, kb_calibration* out) {
  out->passed = 0;
  std::snprintf(out->failed_step, sizeof(out->failed_step), "%s", step.c_str());
  std::snprintf(out->message, sizeof(out->message), "%s", message.c_str());
}

std::string TimeText(double seconds) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.4g us", seconds * 1e6);
  return text;
}

}  // namespace kbench::engine
