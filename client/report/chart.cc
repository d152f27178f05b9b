#include "client/report/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "client/report/document.h"

namespace kbench::client {
namespace {

constexpr double kLetter = 7;  // width of one, on average

std::string Points(const std::vector<std::pair<double, double>>& points) {
  std::string text;
  for (const auto& [x, y] : points) {
    text += fmt::format("{}{:.1f},{:.1f}", text.empty() ? "" : " ", x, y);
  }
  return text;
}

std::string Polygon(const std::vector<std::pair<double, double>>& points,
                    const std::string& classes, const std::string& tip) {
  return fmt::format("<polygon class=\"{}\" points=\"{}\"><title>{}</title></polygon>", classes,
                     Points(points), HtmlText(tip));
}

// Multiples of the finest of 1, 2 and 5 times a power of ten that gives no more than `most`.
std::vector<double> EvenTicks(double low, double high, std::size_t most) {
  std::vector<double> ticks;
  for (int power = static_cast<int>(std::floor(std::log10(high - low))) - 2;; ++power) {
    for (const double one : {1.0, 2.0, 5.0}) {
      const double step = one * std::pow(10, power);
      if ((high - low) / step > static_cast<double>(most)) continue;
      for (double i = std::ceil(low / step); i * step <= high; ++i) ticks.push_back(i * step);
      return ticks;
    }
  }
}

}  // namespace

double Scale::operator()(double value) const {
  const double kept = std::clamp(value, low, high);
  return from + (to - from) * std::log(kept / low) / std::log(high / low);
}

std::vector<double> Ticks(double low, double high, std::size_t most) {
  if (high < 4 * low) return EvenTicks(low, high, most);
  std::vector<double> fine;
  std::vector<double> coarse;
  for (int power = static_cast<int>(std::floor(std::log10(low))) - 1;
       power <= static_cast<int>(std::ceil(std::log10(high))); ++power) {
    for (const double step : {1.0, 2.0, 5.0}) {
      const double tick = step * std::pow(10, power);
      if (tick < low * 0.999 || tick > high * 1.001) continue;
      fine.push_back(tick);
      if (step == 1.0) coarse.push_back(tick);
    }
  }
  std::vector<double> ticks = fine.size() <= most || coarse.size() < 2 ? fine : coarse;
  while (ticks.size() > most && ticks.size() > 2) {
    std::vector<double> fewer;
    for (std::size_t i = 0; i < ticks.size(); i += 2) fewer.push_back(ticks[i]);
    ticks = fewer;
  }
  return ticks;
}

std::pair<double, double> Padded(double low, double high, double least) {
  // What no device has ever done must not make an axis of infinite length.
  low = std::clamp(low, 1e-30, 1e30);
  high = std::clamp(high, low, 1e30);
  const double missing = least / (high / low);
  const double margin = std::max(std::pow(high / low, 0.08), missing > 1 ? std::sqrt(missing) : 1);
  return {low / margin, high * margin};
}

std::string ClassOf(Role role) {
  switch (role) {
    case Role::kHand:
      return "cuda";
    case Role::kLibrary:
      return "library";
    case Role::kTorch:
      return "torch";
    case Role::kTriton:
      return "triton";
    case Role::kTritonAot:
      return "aot";
    case Role::kOther:
      break;
  }
  return "other";
}

std::string SvgText(double x, double y, const std::string& text, const std::string& anchor,
                    const std::string& classes) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" class=\"{}\">{}</text>", x,
                     y, anchor, classes, HtmlText(text));
}

std::string SvgLine(double x1, double y1, double x2, double y2, const std::string& classes) {
  return fmt::format("<line class=\"{}\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>",
                     classes, x1, y1, x2, y2);
}

std::string SvgRect(double x, double y, double width, double height, const std::string& classes) {
  return fmt::format(
      "<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>", classes,
      x, y, width, height);
}

std::string SvgPath(const std::vector<std::pair<double, double>>& points,
                    const std::string& classes) {
  return fmt::format("<polyline class=\"{}\" points=\"{}\"/>", classes, Points(points));
}

std::string SvgMark(Role role, double x, double y, double radius, const std::string& classes,
                    const std::string& tip) {
  const double r = radius;
  switch (role) {
    case Role::kLibrary:
      return Polygon({{x - r, y - r}, {x + r, y - r}, {x + r, y + r}, {x - r, y + r}}, classes,
                     tip);
    case Role::kTorch:
      return Polygon({{x, y - 1.3 * r}, {x + 1.3 * r, y}, {x, y + 1.3 * r}, {x - 1.3 * r, y}},
                     classes, tip);
    case Role::kTriton:
      return Polygon({{x, y - 1.25 * r}, {x + 1.2 * r, y + r}, {x - 1.2 * r, y + r}}, classes, tip);
    case Role::kTritonAot:
      return Polygon({{x, y + 1.25 * r}, {x + 1.2 * r, y - r}, {x - 1.2 * r, y - r}}, classes, tip);
    default:
      return fmt::format(
          "<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" "
          "r=\"{:.1f}\"><title>{}</title></circle>",
          classes, x, y, r, HtmlText(tip));
  }
}

std::string SvgInterval(double at, double low, double high, bool across) {
  constexpr double kEnd = 3;
  if (across) {
    return SvgLine(low, at, high, at, "bar") + SvgLine(low, at - kEnd, low, at + kEnd, "bar") +
           SvgLine(high, at - kEnd, high, at + kEnd, "bar");
  }
  return SvgLine(at, low, at, high, "bar") + SvgLine(at - kEnd, low, at + kEnd, low, "bar") +
         SvgLine(at - kEnd, high, at + kEnd, high, "bar");
}

std::string SvgGroup(Role role, const std::string& inside) {
  return "<g class=\"" + ClassOf(role) + "\">" + inside + "</g>\n";
}

std::string SvgDrawing(double width, double height, const std::string& label,
                       const std::string& inside) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
      "height=\"{1:.0f}\" role=\"img\" aria-label=\"{2}\">\n{3}</svg>\n",
      width, height, HtmlText(label), inside);
}

Place PlaceOf(std::size_t index, double top, double height) {
  constexpr double kGap = 20;
  constexpr double kColumn = (kDrawingWidth - 2 * kGap) / 3;
  return {static_cast<double>(index % 3) * (kColumn + kGap),
          top + static_cast<double>(index / 3) * (height + 26), kColumn, height};
}

std::pair<std::string, double> SvgLegend(const std::vector<Role>& roles, bool cpu, double x,
                                         double y) {
  std::string drawing;
  double at = x;
  for (const Role role : roles) {
    const std::string name = RoleName(role, cpu);
    drawing += SvgGroup(role, SvgMark(role, at + 5, y - 4, 4.5, "mark", name));
    drawing += SvgText(at + 16, y, name, "start");
    at += 34 + kLetter * static_cast<double>(name.size());
  }
  return {drawing, at - x};
}

}  // namespace kbench::client
