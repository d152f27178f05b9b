// The results of a cell drawn beside their rows, a line a result: the interval as dashes, the
// median as "o", the baseline as "|". Pure; thread-safe.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "kbench/v1/history_service.pb.h"

namespace kbench::client {

class CellPlot {
 public:
  // Reaches from the least to the largest end of an interval, and to the baseline (0: none).
  // `width`: columns.
  CellPlot(const std::vector<kbench::v1::HistoryPoint>& points, double baseline, std::size_t width);

  // Both ends, "190.1 us    195.0 us"; empty where they do not fit.
  std::string Header() const;
  // Without trailing spaces; empty for a result without a time.
  std::string Row(const kbench::v1::HistoryPoint& point) const;

 private:
  std::size_t ColumnOf(double seconds) const;

  double low_ = 0;
  double high_ = 0;
  double baseline_;
  std::size_t width_;
};

}  // namespace kbench::client
