#include "client/output/units.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <utility>

namespace kbench::client {
namespace {

// FLOP per byte above which the rate of a kernel is told in FLOP/s.
constexpr double kComputeIntensity = 2;

std::string FourDigits(double value) {
  if (value >= 999.95) return fmt::format("{:.0f}", value);
  if (value >= 99.995) return fmt::format("{:.1f}", value);
  if (value >= 9.9995) return fmt::format("{:.2f}", value);
  return fmt::format("{:.3f}", value);
}

// `value` in the largest unit that keeps it at 1 or more; units grow by 1000.
template <std::size_t N>
std::string Scaled(double value, double smallest, const std::array<const char*, N>& units) {
  double scale = smallest;
  std::size_t i = 0;
  while (i + 1 < N && value >= 999.95 * scale) {
    scale *= 1000;
    ++i;
  }
  return FourDigits(value / scale) + " " + units[i];
}

// The number in front and what follows it, without spaces between.
std::pair<double, std::string> Split(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end == text.c_str()) return {NAN, ""};
  std::string unit(end);
  while (!unit.empty() && unit.front() == ' ') unit.erase(0, 1);
  while (!unit.empty() && unit.back() == ' ') unit.pop_back();
  return {value, unit};
}

}  // namespace

std::string FormatSeconds(double seconds) {
  if (!(seconds > 0)) return "0 s";
  return Scaled(seconds, 1e-9, std::array{"ns", "us", "ms", "s"});
}

std::string FormatSecondsRoughly(double seconds) {
  if (seconds < 1) return fmt::format("{:.2g} s", seconds);
  if (seconds < 120) return fmt::format("{:.0f} s", seconds);
  if (seconds < 7200) return fmt::format("{:.1f} min", seconds / 60);
  if (seconds < 172800) return fmt::format("{:.1f} h", seconds / 3600);
  return fmt::format("{:.1f} days", seconds / 86400);
}

std::string FormatFlops(double flops_per_second) {
  return Scaled(flops_per_second, 1e6, std::array{"MFLOP/s", "GFLOP/s", "TFLOP/s", "PFLOP/s"});
}

std::string FormatBytes(double bytes_per_second) {
  return Scaled(bytes_per_second, 1e6, std::array{"MB/s", "GB/s", "TB/s", "PB/s"});
}

std::string FormatSize(double bytes) {
  const std::array units{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t i = 0;
  while (i + 1 < units.size() && bytes >= 1024) {
    bytes /= 1024;
    ++i;
  }
  return fmt::format("{:.{}f} {}", bytes, i == 0 || bytes >= 100 ? 0 : 1, units[i]);
}

std::string FormatPercent(double ratio) {
  const double percent = ratio * 100;
  if (percent >= 99.5) return fmt::format("{:.0f}%", percent);
  if (percent >= 9.95) return fmt::format("{:.1f}%", percent);
  return fmt::format("{:.2f}%", percent);
}

std::string FormatFactor(double factor) {
  if (factor >= 99.95) return fmt::format("{:.0f}x", factor);
  if (factor >= 9.995) return fmt::format("{:.1f}x", factor);
  if (factor >= 0.9995) return fmt::format("{:.2f}x", factor);
  if (factor >= 0.0995) return fmt::format("{:.3f}x", factor);
  return fmt::format("{:#.3g}x", factor);
}

std::string FormatMinute(std::int64_t unix_seconds) {
  const std::time_t seconds = unix_seconds;
  std::tm local = {};
  localtime_r(&seconds, &local);
  char text[32];
  return {text, std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M", &local)};
}

std::string FormatError(double relative_error) {
  if (relative_error < 0) return "not finite";
  if (relative_error == 0) return "0";
  std::string text = fmt::format("{:.1e}", relative_error);
  // "2.1e-04" -> "2.1e-4"
  const std::size_t digit = text.size() - 2;
  if (text[digit] == '0') text.erase(digit, 1);
  return text;
}

double IntervalRatio(const kbench::v1::TimeDistribution& time) {
  if (!(time.median() > 0) || (time.low() == 0 && time.high() == 0)) return 0;
  return (time.high() - time.low()) / 2 / time.median();
}

std::string FormatRate(const kbench::v1::Throughput& throughput) {
  const bool compute = throughput.flops() > kComputeIntensity * throughput.bytes();
  if (compute && throughput.flops_per_second() > 0) {
    return FormatFlops(throughput.flops_per_second());
  }
  if (throughput.bytes_per_second() > 0) return FormatBytes(throughput.bytes_per_second());
  return "-";
}

std::string FormatCount(long count, const std::string& one, const std::string& many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

bool ParseRatio(const std::string& text, double* ratio) {
  const auto [value, unit] = Split(text);
  if (!std::isfinite(value) || (!unit.empty() && unit != "%")) return false;
  *ratio = unit == "%" ? value / 100 : value;
  return true;
}

bool ParseDuration(const std::string& text, double* seconds) {
  const auto [value, unit] = Split(text);
  if (!std::isfinite(value)) return false;
  double scale = 0;
  if (unit == "s") scale = 1;
  if (unit == "ms") scale = 1e-3;
  if (unit == "m" || unit == "min") scale = 60;
  if (unit == "h") scale = 3600;
  if (unit == "d") scale = 86400;
  if (scale == 0) return false;
  *seconds = value * scale;
  return value >= 0 && std::isfinite(*seconds);
}

}  // namespace kbench::client
