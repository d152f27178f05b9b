#include "server/history/words.h"

#include <cmath>

#include "fmt/format.h"

namespace kbench::history {

std::string SecondsText(double seconds) {
  const double size = std::fabs(seconds);
  if (size >= 1) return fmt::format("{:.4g} s", seconds);
  if (size >= 1e-3) return fmt::format("{:.4g} ms", 1e3 * seconds);
  if (size >= 1e-6) return fmt::format("{:.4g} us", 1e6 * seconds);
  return fmt::format("{:.4g} ns", 1e9 * seconds);
}

// Two digits where one decimal would be one digit or none.
std::string PercentText(double ratio) {
  return std::fabs(ratio) < 0.00995 ? fmt::format("{:.2f} %", 100 * ratio)
                                    : fmt::format("{:.1f} %", 100 * ratio);
}

std::string SignedText(double ratio) {
  const std::string text = fmt::format("{:+.1f} %", 100 * ratio);
  return text == "-0.0 %" ? "+0.0 %" : text;
}

std::string ChangeText(double ratio) {
  return fmt::format("{:.1f} % {}", 100 * std::fabs(ratio), ratio < 0 ? "faster" : "slower");
}

}  // namespace kbench::history
