// Speed against size, a panel a series.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "client/output/units.h"
#include "client/report/chart.h"
#include "client/report/plots.h"

namespace kbench::client {
namespace {

using kbench::v1::Result;

struct RatioPoint {
  double extent = 0;
  Ratio speed;
  std::string name;
};
using RatioLines = std::map<Role, std::vector<RatioPoint>>;

RatioLines LinesIn(const SeriesRegimes& regimes) {
  RatioLines lines;
  for (const auto& point : regimes.series->points) {
    const Result* reference = point.of->Best(regimes.reference);
    if (reference == nullptr) continue;
    for (const Role role : AllRoles()) {
      const Result* row = role == regimes.reference ? nullptr : point.of->Best(role);
      if (row == nullptr) continue;
      lines[role].push_back({point.extent, SpeedOf(*row, *reference), row->implementation()});
    }
  }
  return lines;
}

std::string DrawLine(const SeriesRegimes& regimes, Role role, const std::vector<RatioPoint>& points,
                     const Scale& x, const Scale& y) {
  std::vector<std::pair<double, double>> path;
  std::string marks;
  for (const RatioPoint& point : points) {
    const double px = x(point.extent);
    path.emplace_back(px, y(point.speed.value));
    if (point.speed.sure()) {
      marks += SvgInterval(px, y(point.speed.low), y(point.speed.high), false);
    }
    marks += SvgMark(role, px, y(point.speed.value), 4, "mark",
                     fmt::format("{}, {}: {}", point.name, SizeText(*regimes.series, point.extent),
                                 RatioText(point.speed)));
  }
  return SvgGroup(role, SvgPath(path, "link") + marks);
}

// Behind the sizes that are bound by their launch.
std::string LaunchZone(const SeriesRegimes& regimes, const Place& inner, const Scale& x) {
  double last = 0;
  for (const SizeRegime& size : regimes.sizes) {
    if (size.regime != Regime::kLaunch) break;
    last = size.extent;
  }
  if (last == 0) return "";
  double end = inner.left + inner.width;
  for (const SizeRegime& size : regimes.sizes) {
    if (size.extent > last) {
      end = (x(last) + x(size.extent)) / 2;
      break;
    }
  }
  return SvgRect(inner.left, inner.top, end - inner.left, inner.height, "zone") +
         SvgText(inner.left + 4, inner.top + inner.height - 5, "launch-bound", "start", "soft");
}

std::string ExtentTicks(const Series& series, const Place& inner, const Scale& x) {
  std::string drawing;
  double last = -1e9;
  for (const auto& point : series.points) {
    const double px = x(point.extent);
    drawing += SvgLine(px, inner.top + inner.height, px, inner.top + inner.height + 4, "axis");
    if (px - last < 40) continue;
    last = px;
    drawing +=
        SvgText(px, inner.top + inner.height + 17, ExtentText(point.extent), "middle", "soft");
  }
  return drawing;
}

std::string RatioPanel(const SeriesRegimes& regimes, const RatioLines& lines, const Place& place,
                       bool cpu) {
  const Place inner{place.left + 44, place.top + 34, place.width - 52, place.height - 62};
  double low = 1;
  double high = 1;
  for (const auto& [role, points] : lines) {
    for (const RatioPoint& point : points) {
      low = std::min({low, point.speed.value, point.speed.sure() ? point.speed.low : low});
      high = std::max({high, point.speed.value, point.speed.sure() ? point.speed.high : high});
    }
  }
  const auto [bottom, top] = Padded(low, high, 1.5);
  const auto& points = regimes.series->points;
  const auto [first, last] = Padded(points.front().extent, points.back().extent, 2);
  const Scale x{first, last, inner.left, inner.left + inner.width};
  const Scale y{bottom, top, inner.top + inner.height, inner.top};
  std::string drawing =
      SvgText(place.left, place.top + 12, regimes.series->Title(), "start", "title");
  drawing += SvgText(place.left, place.top + 27,
                     "speed against " + RoleName(regimes.reference, cpu), "start", "soft");
  drawing += LaunchZone(regimes, inner, x);
  for (const double tick : Ticks(bottom, top, 7)) {
    drawing += SvgLine(inner.left, y(tick), inner.left + inner.width, y(tick), "grid") +
               SvgText(inner.left - 6, y(tick) + 4, fmt::format("{:g}x", tick), "end", "soft");
  }
  drawing += SvgLine(inner.left, inner.top + inner.height, inner.left + inner.width,
                     inner.top + inner.height, "axis");
  drawing += SvgLine(inner.left, y(1), inner.left + inner.width, y(1), "one");
  drawing += ExtentTicks(*regimes.series, inner, x);
  for (const auto& [role, of_role] : lines) drawing += DrawLine(regimes, role, of_role, x, y);
  return drawing;
}

}  // namespace

std::string RatioPlot(const std::vector<SeriesRegimes>& regimes, bool cpu) {
  std::string drawing;
  std::set<Role> seen;
  std::size_t panels = 0;
  constexpr double kHeight = 240;
  constexpr double kTop = 34;
  for (const SeriesRegimes& one : regimes) {
    const RatioLines lines = LinesIn(one);
    if (lines.empty() || one.series->points.size() < 2) continue;
    drawing += RatioPanel(one, lines, PlaceOf(panels++, kTop, kHeight), cpu);
    for (const auto& [role, points] : lines) seen.insert(role);
  }
  if (panels == 0) return "";
  drawing += SvgLegend({seen.begin(), seen.end()}, cpu, 0, 14).first;
  const Place last = PlaceOf(panels - 1, kTop, kHeight);
  return SvgDrawing(kDrawingWidth, last.top + last.height, "Speed against size, a panel a kernel",
                    drawing);
}

}  // namespace kbench::client
