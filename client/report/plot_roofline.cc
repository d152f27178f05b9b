// FLOP/s over FLOP per byte.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "client/output/units.h"
#include "client/report/chart.h"
#include "client/report/plots.h"

namespace kbench::client {
namespace {

using kbench::v1::Result;

std::vector<Role> RolesIn(const std::vector<Series>& series) {
  std::vector<Role> roles;
  for (const Role role : AllRoles()) {
    const bool ran = std::any_of(series.begin(), series.end(), [&](const Series& one) {
      return std::any_of(one.points.begin(), one.points.end(),
                         [&](const auto& point) { return point.of->Best(role) != nullptr; });
    });
    if (ran) roles.push_back(role);
  }
  return roles;
}

void Keep(std::map<std::string, double>* of_dtype, const std::string& dtype, double rate,
          double share) {
  if (share > 0 && rate > 0) (*of_dtype)[dtype] = std::max((*of_dtype)[dtype], rate / share);
}

double IntensityOf(const Result& row) {
  const auto& rates = row.throughput();
  return rates.bytes() > 0 ? rates.flops() / rates.bytes() : 0;
}

struct Dot {
  Role role = Role::kOther;
  double intensity = 0;
  double rate = 0;
  bool largest = false;
  std::string of;  // "sum fp32"
  std::string tip;
};

std::vector<Dot> DotsOf(const std::vector<Series>& series) {
  std::vector<Dot> dots;
  std::set<const Result*> seen;
  for (const Series& one : series) {
    for (const auto& point : one.points) {
      for (const Role role : AllRoles()) {
        const Result* row = point.of->Best(role);
        if (row == nullptr || !(IntensityOf(*row) > 0) || !seen.insert(row).second) continue;
        const double rate = row->throughput().flops_per_second();
        if (!(rate > 0)) continue;
        dots.push_back(
            {role, IntensityOf(*row), rate, &point == &one.points.back(),
             one.kernel + " " + one.dtype,
             fmt::format("{} {} {}, {}: {}", one.kernel, one.dtype, SizeText(one, point.extent),
                         row->implementation(), FormatFlops(rate))});
      }
    }
  }
  return dots;
}

// What stands beside the plot, at its height.
struct Label {
  double y = 0;
  std::string text;
};

// A roof of the memory and what it says; of arithmetic from where the memory's meets it.
std::string MemoryRoof(double bandwidth, const std::string& words, const std::string& classes,
                       const Scale& x, const Scale& y, double ceiling, double label_shift) {
  const double begin = std::max(x.low, y.low / bandwidth);
  const double end = std::min({x.high, y.high / bandwidth, ceiling / bandwidth});
  if (!(end > begin)) return "";
  // Nothing stands above the roof; below it are marks, but for its beginning.
  const double at = begin * std::pow(end / begin, label_shift < 0 ? 0.5 : 0.12);
  return SvgLine(x(begin), y(begin * bandwidth), x(end), y(end * bandwidth), classes) +
         SvgText(x(at) + (label_shift < 0 ? -8 : 10), y(at * bandwidth) + label_shift,
                 words + " " + FormatBytes(bandwidth), label_shift < 0 ? "end" : "start", "soft");
}

std::string ArithmeticRoofs(const std::vector<std::pair<std::string, double>>& flops,
                            const std::string& words, const std::string& classes, double bandwidth,
                            const Scale& x, const Scale& y, std::vector<Label>* labels) {
  std::string drawing;
  for (const auto& [dtype, rate] : flops) {
    if (rate < y.low || rate > y.high) continue;
    const double begin = bandwidth > 0 ? std::clamp(rate / bandwidth, x.low, x.high) : x.low;
    drawing += SvgLine(x(begin), y(rate), x(x.high), y(rate), classes);
    labels->push_back({y(rate), fmt::format("{} {} {}", dtype, words, FormatFlops(rate))});
  }
  return drawing;
}

// Beside the plot, from top to bottom, none over another.
std::string Beside(std::vector<Label> labels, double left) {
  constexpr double kLine = 15;
  std::sort(labels.begin(), labels.end(), [](const Label& a, const Label& b) { return a.y < b.y; });
  std::string drawing;
  double free = 0;
  for (const Label& label : labels) {
    const double at = std::max(label.y, free);
    free = at + kLine;
    drawing += SvgLine(left, label.y, left + 10, at, "grid") +
               SvgText(left + 13, at + 4, label.text, "start", "soft");
  }
  return drawing;
}

// The kernel's name above the highest of its large marks.
std::string Names(const std::vector<Dot>& dots, const Scale& x, const Scale& y) {
  std::map<std::string, Dot> highest;
  for (const Dot& dot : dots) {
    if (!dot.largest) continue;
    const auto [known, is_new] = highest.emplace(dot.of, dot);
    if (!is_new && dot.rate > known->second.rate) known->second = dot;
  }
  std::vector<std::pair<double, double>> taken;  // middles of the names so far
  std::string drawing;
  for (const auto& [name, dot] : highest) {
    const double px = x(dot.intensity);
    double py = y(dot.rate) - 11;
    const auto meets = [&](const auto& other) {
      return std::abs(other.first - px) < 100 && std::abs(other.second - py) < 14;
    };
    while (std::any_of(taken.begin(), taken.end(), meets)) py -= 14;
    taken.emplace_back(px, py);
    drawing += SvgText(px, py, name, "middle");
  }
  return drawing;
}

}  // namespace

Roofs RoofsOf(const std::vector<Series>& series) {
  Roofs roofs;
  std::map<std::string, double> peak;
  std::map<std::string, double> roof;
  for (const Series& one : series) {
    for (const auto& point : one.points) {
      for (const Result& row : point.of->rows) {
        if (!IsUsable(row)) continue;
        const auto& rates = row.throughput();
        if (rates.peak_bandwidth_ratio() > 0) {
          roofs.peak_bandwidth = std::max(roofs.peak_bandwidth,
                                          rates.bytes_per_second() / rates.peak_bandwidth_ratio());
        }
        if (rates.roof_bandwidth_ratio() > 0) {
          roofs.roof_bandwidth = std::max(roofs.roof_bandwidth,
                                          rates.bytes_per_second() / rates.roof_bandwidth_ratio());
        }
        Keep(&peak, one.dtype, rates.flops_per_second(), rates.peak_flops_ratio());
        Keep(&roof, one.dtype, rates.flops_per_second(), rates.roof_flops_ratio());
      }
    }
  }
  roofs.peak_flops.assign(peak.begin(), peak.end());
  roofs.roof_flops.assign(roof.begin(), roof.end());
  return roofs;
}

std::string RooflinePlot(const std::vector<Series>& series, bool cpu) {
  const std::vector<Dot> dots = DotsOf(series);
  if (dots.empty()) return "";
  const Roofs roofs = RoofsOf(series);
  double least = dots.front().intensity;
  double most = least;
  double low = dots.front().rate;
  double high = low;
  for (const Dot& dot : dots) {
    least = std::min(least, dot.intensity);
    most = std::max(most, dot.intensity);
    low = std::min(low, dot.rate);
    high = std::max(high, dot.rate);
  }
  double ceiling = high;
  for (const auto* of : {&roofs.peak_flops, &roofs.roof_flops}) {
    for (const auto& [dtype, rate] : *of) ceiling = std::max(ceiling, rate);
  }
  const auto [left, right] = Padded(least, most, 30);
  const auto [bottom, top] = Padded(low, ceiling, 30);
  constexpr double kHeight = 520;
  const Place inner{74, 34, kDrawingWidth - 84 - 190, kHeight - 84};
  const Scale x{left, right, inner.left, inner.left + inner.width};
  const Scale y{bottom, top, inner.top + inner.height, inner.top};
  std::string drawing;
  for (const double tick : Ticks(left, right, 9)) {
    drawing += SvgLine(x(tick), inner.top, x(tick), inner.top + inner.height, "grid") +
               SvgText(x(tick), inner.top + inner.height + 17, fmt::format("{:g}", tick), "middle",
                       "soft");
  }
  for (const double tick : Ticks(bottom, top, 9)) {
    drawing += SvgLine(inner.left, y(tick), inner.left + inner.width, y(tick), "grid") +
               SvgText(inner.left - 6, y(tick) + 4,
                       tick >= 1e12 ? fmt::format("{:g} T", tick / 1e12)
                                    : fmt::format("{:g} G", tick / 1e9),
                       "end", "soft");
  }
  drawing += SvgText(inner.left + inner.width / 2, kHeight - 10, "FLOP per byte", "middle", "soft");
  drawing += SvgText(0, inner.top - 8, "FLOP/s", "start", "soft");
  drawing += MemoryRoof(roofs.peak_bandwidth, "memory, datasheet", "peak", x, y, ceiling, -6);
  drawing += MemoryRoof(roofs.roof_bandwidth, "memory, measured", "roof", x, y, ceiling, 16);
  const double bandwidth = std::max(roofs.peak_bandwidth, roofs.roof_bandwidth);
  std::vector<Label> labels;
  drawing += ArithmeticRoofs(roofs.peak_flops, "datasheet", "peak", bandwidth, x, y, &labels);
  drawing +=
      ArithmeticRoofs(roofs.roof_flops, "measured", "roof", roofs.roof_bandwidth, x, y, &labels);
  drawing += Beside(std::move(labels), inner.left + inner.width);
  for (const bool largest : {false, true}) {  // the large ones on top
    for (const Dot& dot : dots) {
      if (dot.largest != largest) continue;
      // Side by side: those of one size have one intensity.
      const double aside = (static_cast<double>(dot.role) - 2) * (largest ? 9 : 5);
      drawing +=
          SvgGroup(dot.role, SvgMark(dot.role, x(dot.intensity) + aside, y(dot.rate),
                                     largest ? 5 : 3, largest ? "mark" : "mark small", dot.tip));
    }
  }
  drawing += Names(dots, x, y);
  drawing += SvgLegend(RolesIn(series), cpu, inner.left, 14).first;
  return SvgDrawing(kDrawingWidth, kHeight, "Roofline", drawing);
}

}  // namespace kbench::client
