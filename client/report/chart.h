// The pieces of a plot as SVG: logarithmic scales, a framed panel, marks with interval bars. Marks
// differ by shape as well as by colour. Pure; used from one thread.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "client/report/role.h"

namespace kbench::client {

// A logarithmic axis in pixels.
struct Scale {
  double low = 1;  // above 0
  double high = 10;
  double from = 0;  // the pixel of `low`
  double to = 100;  // of `high`

  double operator()(double value) const;  // kept within the axis
};

// 1, 2 and 5 times powers of ten within [low, high], fewer where they would be over `most`; even
// steps where the axis spans less than a factor of 4.
std::vector<double> Ticks(double low, double high, std::size_t most);
// [low, high] with a margin on both sides, at least `least` wide as a factor.
std::pair<double, double> Padded(double low, double high, double least);

// The class of a role's colour in the page's style.
std::string ClassOf(Role role);

// Elements, each with its end. Coordinates in pixels.
std::string SvgText(double x, double y, const std::string& text, const std::string& anchor,
                    const std::string& classes = "");
std::string SvgLine(double x1, double y1, double x2, double y2, const std::string& classes);
std::string SvgRect(double x, double y, double width, double height, const std::string& classes);
std::string SvgPath(const std::vector<std::pair<double, double>>& points,
                    const std::string& classes);
// The role's shape; `tip` is what a reader sees who points at it.
std::string SvgMark(Role role, double x, double y, double radius, const std::string& classes,
                    const std::string& tip);
// A vertical (or, `across`, horizontal) interval with its ends.
std::string SvgInterval(double at, double low, double high, bool across);
// Everything in `role`'s colour.
std::string SvgGroup(Role role, const std::string& inside);
// A whole drawing; `label` says what it shows to who does not see it.
std::string SvgDrawing(double width, double height, const std::string& label,
                       const std::string& inside);

inline constexpr double kDrawingWidth = 1030;

// A place for a panel in a grid of three columns that begins at `top`.
struct Place {
  double left = 0;
  double top = 0;
  double width = 0;
  double height = 0;
};
Place PlaceOf(std::size_t index, double top, double height);

// One line of names with their marks; returns the drawing and its width.
std::pair<std::string, double> SvgLegend(const std::vector<Role>& roles, bool cpu, double x,
                                         double y);

}  // namespace kbench::client
