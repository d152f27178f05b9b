// Trends in a series, robust against outliers. Pure; thread-safe.
#pragma once

#include <span>
#include <vector>

namespace kbench::stats {

// Ranks from 1; ties get their mean rank.
std::vector<double> MeanRanks(std::span<const double> values);

// Spearman's rank correlation of a series with its own index (ties get their mean rank), -1 to 1; 0
// for fewer than three values or a constant series.
double SpearmanWithIndex(std::span<const double> series);
double Spearman(std::span<const double> x, std::span<const double> y);

// Theil-Sen: the median of the slopes between all pairs, per step of the index; 0 for fewer than
// two values.
double TheilSenSlope(std::span<const double> series);

}  // namespace kbench::stats
