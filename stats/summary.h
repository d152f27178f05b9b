// Plain descriptive statistics. Pure functions over finite numbers; thread-safe. Quantiles are type
// 7 (linear interpolation between order statistics), the rule NumPy and R use by default.
#pragma once

#include <span>
#include <vector>

namespace kbench::stats {

std::vector<double> Sorted(std::span<const double> values);

// `sorted` ascending and not empty, p in [0, 1].
double QuantileSorted(std::span<const double> sorted, double p);
// The following take values in any order; not empty.
double Median(std::span<const double> values);
// Median absolute deviation from the median, unscaled.
double Mad(std::span<const double> values);
double Mean(std::span<const double> values);
// Sample standard deviation (n - 1); 0 for fewer than two values.
double StdDev(std::span<const double> values);

}  // namespace kbench::stats
