#include "stats/robust_scale.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace kbench::stats {
namespace {

constexpr double kNormal = 2.2219;  // of the quartile of all distances, to a standard deviation
// For 2 to 9 values; beyond, the formulas of the same paper.
constexpr double kFew[] = {0.399, 0.994, 0.512, 0.844, 0.611, 0.857, 0.669, 0.872};

double SmallSample(std::size_t n) {
  if (n < 2 + std::size(kFew)) return kFew[n - 2];
  const auto count = static_cast<double>(n);
  return n % 2 == 1 ? count / (count + 1.4) : count / (count + 3.8);
}

}  // namespace

double RobustScale(std::span<const double> values) {
  const std::size_t n = values.size();
  if (n < 2) return 0;
  std::vector<double> distances;
  distances.reserve(n * (n - 1) / 2);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < i; ++j) distances.push_back(std::fabs(values[i] - values[j]));
  }
  const std::size_t half = n / 2 + 1;
  const auto quartile = distances.begin() + static_cast<std::ptrdiff_t>(half * (half - 1) / 2 - 1);
  std::nth_element(distances.begin(), quartile, distances.end());
  return kNormal * SmallSample(n) * *quartile;
}

}  // namespace kbench::stats
