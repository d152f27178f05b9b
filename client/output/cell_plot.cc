#include "client/output/cell_plot.h"

#include <algorithm>
#include <cmath>

#include "client/output/units.h"

namespace kbench::client {

using kbench::v1::HistoryPoint;

CellPlot::CellPlot(const std::vector<HistoryPoint>& points, double baseline, std::size_t width)
    : baseline_(baseline), width_(width) {
  const auto reach = [&](double seconds) {
    if (!(seconds > 0)) return;
    low_ = low_ > 0 ? std::min(low_, seconds) : seconds;
    high_ = std::max(high_, seconds);
  };
  reach(baseline);
  for (const HistoryPoint& point : points) {
    reach(point.seconds());
    if (point.seconds() > 0) reach(point.low());
    if (point.seconds() > 0) reach(point.high());
  }
}

std::size_t CellPlot::ColumnOf(double seconds) const {
  if (!(high_ > low_)) return width_ / 2;
  const double share = std::clamp((seconds - low_) / (high_ - low_), 0.0, 1.0);
  return static_cast<std::size_t>(std::lround(share * static_cast<double>(width_ - 1)));
}

std::string CellPlot::Header() const {
  const std::string low = FormatSeconds(low_);
  const std::string high = FormatSeconds(high_);
  if (!(high_ > 0) || low.size() + high.size() + 1 > width_) return "";
  return low + std::string(width_ - low.size() - high.size(), ' ') + high;
}

std::string CellPlot::Row(const HistoryPoint& point) const {
  if (!(point.seconds() > 0)) return "";
  std::string row(width_, ' ');
  if (point.low() > 0 && point.high() >= point.low()) {
    std::fill(row.begin() + static_cast<std::ptrdiff_t>(ColumnOf(point.low())),
              row.begin() + static_cast<std::ptrdiff_t>(ColumnOf(point.high())) + 1, '-');
  }
  if (baseline_ > 0) row[ColumnOf(baseline_)] = '|';
  row[ColumnOf(point.seconds())] = 'o';
  return row.substr(0, row.find_last_not_of(' ') + 1);
}

}  // namespace kbench::client
