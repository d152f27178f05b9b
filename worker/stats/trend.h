// Trends in a series, robust against outliers. Pure; thread-safe.
#pragma once

#include <span>

namespace kbench::stats {

// Spearman's rank correlation of a series with its own index (ties get their mean rank), -1 to 1; 0
// for fewer than three values or a constant series.
double SpearmanWithIndex(std::span<const double> series);
double Spearman(std::span<const double> x, std::span<const double> y);

// Theil-Sen: the median of the slopes between all pairs, per step of the index; 0 for fewer than
// two values.
double TheilSenSlope(std::span<const double> series);

}  // namespace kbench::stats
