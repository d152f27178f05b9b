#include "client/output/time_range.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "proto/support/clock.h"

namespace kbench::client {
namespace {

constexpr double kNowSeconds = 1.5;
// Wider than this, and so far away, nobody can plan with it.
constexpr double kUselessRatio = 20;
constexpr double kUselessSeconds = 30 * 60;

struct Ends {
  std::string low;   // empty: at any moment
  std::string high;  // empty: the whole range is now
  bool useless = false;
};

double Rounded(double value, double step, bool up) {
  const double steps = value / step;
  return step * (up ? std::ceil(steps - 1e-9) : std::floor(steps + 1e-9));
}

Ends EndsOf(const kbench::v1::TimeRange& range, double now) {
  Ends ends;
  const double low = std::max(0.0, StampSeconds(range.earliest()) - now);
  const double high = std::max(low, StampSeconds(range.latest()) - now);
  if (high <= kNowSeconds) return ends;
  ends.high = SpanWord(high, true);
  if (low > kNowSeconds) ends.low = SpanWord(low, false);
  ends.useless = high > kUselessSeconds && high > kUselessRatio * std::max(low, 1.0);
  return ends;
}

// "2" of "2 min" where the other end has the same unit.
std::string WithoutSameUnit(const std::string& low, const std::string& high) {
  const std::size_t space = low.find(' ');
  const bool same = low.substr(space) == high.substr(high.find(' '));
  return same ? low.substr(0, space) : low;
}

}  // namespace

double StampSeconds(const google::protobuf::Timestamp& time) {
  return static_cast<double>(ToMicros(time)) * 1e-6;
}

std::string SpanWord(double seconds, bool up) {
  if (seconds < 10) return fmt::format("{:.0f} s", std::max(1.0, Rounded(seconds, 1, up)));
  if (seconds < 60 && Rounded(seconds, 5, up) < 60) {
    return fmt::format("{:.0f} s", Rounded(seconds, 5, up));
  }
  if (seconds < 90 * 60)
    return fmt::format("{:.0f} min", std::max(1.0, Rounded(seconds / 60, 1, up)));
  if (seconds < 10 * 3600) return fmt::format("{:g} h", Rounded(seconds / 3600, 0.5, up));
  if (seconds < 48 * 3600) return fmt::format("{:.0f} h", Rounded(seconds / 3600, 1, up));
  return fmt::format("{:.0f} days", Rounded(seconds / 86400, 1, up));
}

std::string WhenText(const kbench::v1::TimeRange& range, double now) {
  if (!range.has_latest()) return "nobody can say when";
  const Ends ends = EndsOf(range, now);
  if (ends.high.empty()) return "now";
  const char* doubt = ends.useless ? " (hard to say)" : "";
  if (ends.low.empty()) return "within " + ends.high + doubt;
  if (ends.low == ends.high) return "in about " + ends.high;
  return fmt::format("in {} to {}{}", WithoutSameUnit(ends.low, ends.high), ends.high, doubt);
}

std::string WhenCell(const kbench::v1::TimeRange& range, double now) {
  if (!range.has_latest()) return "?";
  const Ends ends = EndsOf(range, now);
  if (ends.high.empty()) return "now";
  if (ends.low.empty()) return "<" + ends.high;
  if (ends.low == ends.high) return "~" + ends.high;
  return WithoutSameUnit(ends.low, ends.high) + "-" + ends.high;
}

}  // namespace kbench::client
