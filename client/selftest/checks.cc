#include "client/selftest/checks.h"

#include <algorithm>
#include <cmath>

namespace kbench::client::selftest {
namespace {

constexpr double kCopySeconds = 8e-6;
constexpr std::int64_t kFewestElements = 1 << 12;
constexpr std::int64_t kMostElements = 1 << 28;
// Where neither a roof nor a datasheet is known: a modest card, a modest processor.
constexpr double kGuessedGpu = 300e9;
constexpr double kGuessedCpu = 10e9;

double CopyBandwidth(const kbench::v1::Device& device) {
  if (device.calibration().copy_bandwidth() > 0) return device.calibration().copy_bandwidth();
  if (device.peak_bandwidth() > 0) return device.peak_bandwidth();
  return device.kind() == "cuda" ? kGuessedGpu : kGuessedCpu;
}

}  // namespace

bool AllPassed(const std::vector<Check>& checks) {
  return std::none_of(checks.begin(), checks.end(),
                      [](const Check& check) { return check.state == State::kFail; });
}

std::int64_t CopyElements(const kbench::v1::Device& device) {
  constexpr double kBytesAnElement = 8;  // four read, four written
  const double elements = CopyBandwidth(device) * kCopySeconds / kBytesAnElement;
  const double power = std::exp2(std::floor(std::log2(elements)));
  return std::clamp(static_cast<std::int64_t>(power), kFewestElements, kMostElements);
}

}  // namespace kbench::client::selftest
