// Where the time of a small call goes.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "client/output/units.h"
#include "client/report/chart.h"
#include "client/report/plots.h"

namespace kbench::client {
namespace {

using kbench::v1::Result;

std::string TimeMark(Role role, const kbench::v1::TimeDistribution& time, const std::string& what,
                     const std::string& name, double py, const Scale& x, const std::string& kind) {
  if (!(time.median() > 0)) return "";
  const double px = x(time.median());
  std::string drawing;
  if (time.low() > 0) drawing += SvgInterval(py, x(time.low()), x(time.high()), true);
  const std::string tip = name + ", " + what + ": " + SecondsText(time);
  if (kind == "device") {
    return drawing + SvgRect(px - 2, py - 6, 4, 12, "mark") +
           SvgMark(Role::kOther, px, py, 1, "mark", tip);
  }
  return drawing + SvgMark(role, px, py, 4.5, kind == "submit" ? "hollow" : "mark", tip);
}

std::string LaunchRow(const LaunchCost& cost, double py, const Place& inner, const Scale& x) {
  const Result& row = *cost.row;
  const Role role = RoleOf(row.implementation());
  const auto total = EndToEndOf(row);
  double low = row.device_time().median();
  double high = low;
  for (const double time : {total.median(), row.host_submit_time().median()}) {
    if (time > 0) low = std::min(low, time);
    high = std::max(high, time);
  }
  const std::string& name = row.implementation();
  return SvgText(inner.left - 8, py + 4, name, "end") +
         SvgLine(inner.left, py, inner.left + inner.width, py, "grid") +
         SvgGroup(role,
                  SvgLine(x(low), py, x(high), py, "link small") +
                      TimeMark(role, row.host_submit_time(), "host submit", name, py, x, "submit") +
                      TimeMark(role, row.device_time(), "device", name, py, x, "device") +
                      TimeMark(role, total, "end to end", name, py, x, "total"));
}

std::string LaunchPanel(const LaunchCosts& costs, const Place& place) {
  const Place inner{place.left + 124, place.top + 22, place.width - 134, place.height - 46};
  double low = costs.costs.front().row->device_time().median();
  double high = low;
  for (const LaunchCost& cost : costs.costs) {
    const auto& device = cost.row->device_time();
    for (const double time : {device.median(), cost.row->host_submit_time().median(),
                              EndToEndOf(*cost.row).median(), EndToEndOf(*cost.row).high()}) {
      if (!(time > 0)) continue;
      low = std::min(low, time);
      high = std::max(high, time);
    }
  }
  const auto [begin, end] = Padded(low, high, 2);
  const Scale x{begin, end, inner.left, inner.left + inner.width};
  const Series& series = *costs.series;
  std::string title =
      fmt::format("{} {} {}", series.kernel, series.dtype, SizeText(series, costs.extent));
  if (!series.rest.empty()) title += ", " + series.rest;
  std::string drawing = SvgText(place.left, place.top + 12, title, "start", "title");
  const double bottom = inner.top + inner.height;
  for (const double tick : Ticks(begin, end, 4)) {
    drawing += SvgLine(x(tick), inner.top, x(tick), bottom, "grid") +
               SvgText(x(tick), bottom + 16,
                       fmt::format("{:g} {}", tick < 1e-3 ? tick * 1e6 : tick * 1e3,
                                   tick < 1e-3 ? "us" : "ms"),
                       "middle", "soft");
  }
  drawing += SvgLine(inner.left, bottom, inner.left + inner.width, bottom, "axis");
  const double step = inner.height / static_cast<double>(costs.costs.size());
  for (std::size_t i = 0; i < costs.costs.size(); ++i) {
    drawing +=
        LaunchRow(costs.costs[i], inner.top + (static_cast<double>(i) + 0.5) * step, inner, x);
  }
  return drawing;
}

}  // namespace

std::string LaunchPlot(const std::vector<LaunchCosts>& costs, bool cpu) {
  if (costs.empty()) return "";
  std::size_t most = 0;
  std::set<Role> seen;
  for (const LaunchCosts& one : costs) {
    most = std::max(most, one.costs.size());
    for (const LaunchCost& cost : one.costs) seen.insert(RoleOf(cost.row->implementation()));
  }
  const double height = 60 + 26 * static_cast<double>(most);
  constexpr double kTop = 34;
  std::string drawing;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    drawing += LaunchPanel(costs[i], PlaceOf(i, kTop, height));
  }
  auto [legend, width] = SvgLegend({seen.begin(), seen.end()}, cpu, 0, 14);
  legend += SvgGroup(Role::kOther, SvgMark(Role::kHand, width + 25, 10, 4.5, "hollow", ""));
  legend += SvgText(width + 36, 14, "hollow: host submit", "start", "soft");
  legend += SvgGroup(Role::kOther, SvgRect(width + 174, 4, 4, 12, "mark"));
  legend += SvgText(width + 184, 14, "bar: device", "start", "soft");
  legend += SvgGroup(Role::kOther, SvgMark(Role::kHand, width + 275, 10, 4.5, "mark", ""));
  legend += SvgText(width + 286, 14, "filled: end to end", "start", "soft");
  const Place last = PlaceOf(costs.size() - 1, kTop, height);
  return SvgDrawing(kDrawingWidth, last.top + last.height, "Launch costs of the smallest sizes",
                    drawing + legend);
}

}  // namespace kbench::client
