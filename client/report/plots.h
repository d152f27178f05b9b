// The three plots of the report, as SVG. Pure; thread-safe.
#pragma once

#include <string>
#include <vector>

#include "client/report/costs.h"
#include "client/report/regimes.h"

namespace kbench::client {

// All are empty where there is nothing to draw.

// A panel a series: the speed of each role against the series' reference, by size.
std::string RatioPlot(const std::vector<SeriesRegimes>& regimes, bool cpu);
// FLOP/s over FLOP per byte, beneath the roofs that the rows tell of.
std::string RooflinePlot(const std::vector<Series>& series, bool cpu);
// A panel a small case: host submit, device and end-to-end time of each implementation.
std::string LaunchPlot(const std::vector<LaunchCosts>& costs, bool cpu);

// What the rows' shares say of the device, 0 where none does.
struct Roofs {
  double peak_bandwidth = 0;  // byte/s
  double roof_bandwidth = 0;  // the highest of those measured
  // By dtype, FLOP/s.
  std::vector<std::pair<std::string, double>> peak_flops;
  std::vector<std::pair<std::string, double>> roof_flops;
};
Roofs RoofsOf(const std::vector<Series>& series);

}  // namespace kbench::client
