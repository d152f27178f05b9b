#include "worker/stats/trend.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

#include "stats/summary.h"

namespace kbench::stats {
namespace {

double Pearson(std::span<const double> x, std::span<const double> y) {
  const double mean_x = Mean(x);
  const double mean_y = Mean(y);
  double xy = 0;
  double xx = 0;
  double yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean_x) * (y[i] - mean_y);
    xx += (x[i] - mean_x) * (x[i] - mean_x);
    yy += (y[i] - mean_y) * (y[i] - mean_y);
  }
  if (xx == 0 || yy == 0) return 0;
  return xy / std::sqrt(xx * yy);
}

}  // namespace

std::vector<double> MeanRanks(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin + 1;
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    const double mean_rank = static_cast<double>(begin + end + 1) / 2;
    for (std::size_t i = begin; i < end; ++i) ranks[order[i]] = mean_rank;
    begin = end;
  }
  return ranks;
}

double Spearman(std::span<const double> x, std::span<const double> y) {
  const std::size_t n = std::min(x.size(), y.size());
  if (n < 3) return 0;
  return Pearson(MeanRanks(x.first(n)), MeanRanks(y.first(n)));
}

double SpearmanWithIndex(std::span<const double> series) {
  std::vector<double> index(series.size());
  std::iota(index.begin(), index.end(), 0.0);
  return Spearman(index, series);
}

double TheilSenSlope(std::span<const double> series) {
  std::vector<double> slopes;
  for (std::size_t i = 0; i < series.size(); ++i) {
    for (std::size_t j = i + 1; j < series.size(); ++j) {
      slopes.push_back((series[j] - series[i]) / static_cast<double>(j - i));
    }
  }
  return slopes.empty() ? 0 : Median(slopes);
}

}  // namespace kbench::stats
