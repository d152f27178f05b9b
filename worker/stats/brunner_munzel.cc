// Brunner and Munzel (2000), "The nonparametric Behrens-Fisher problem: asymptotic theory and a
// small-sample approximation", Biometrical Journal 42. Unlike Mann and Whitney's test it does not
// take equal spreads for granted.
#include <cmath>
#include <cstddef>
#include <vector>

#include "stats/summary.h"
#include "worker/stats/comparison.h"
#include "worker/stats/distributions.h"
#include "worker/stats/trend.h"

namespace kbench::stats {
namespace {

constexpr std::size_t kLeast = 4;

// Of each side: the mean of its ranks among all values, and the variance of the difference between
// those ranks and the ranks within the side.
struct Side {
  double count = 0;
  double mean_rank = 0;
  double variance = 0;
};

Side Placements(std::span<const double> all_ranks, std::span<const double> own_ranks) {
  Side side;
  side.count = static_cast<double>(own_ranks.size());
  side.mean_rank = Mean(all_ranks);
  std::vector<double> differences;
  for (std::size_t i = 0; i < own_ranks.size(); ++i) {
    differences.push_back(all_ranks[i] - own_ranks[i]);
  }
  const double deviation = StdDev(differences);
  side.variance = deviation * deviation;
  return side;
}

// 2 / C(n + m, n): how many of the ways to deal the values part the sides completely.
double CompleteSeparation(double n, double m) {
  return std::exp(std::log(2.0) + std::lgamma(n + 1) + std::lgamma(m + 1) - std::lgamma(n + m + 1));
}

}  // namespace

double BrunnerMunzel(std::span<const double> a, std::span<const double> b) {
  if (a.size() < kLeast || b.size() < kLeast) return 1;
  std::vector<double> both(a.begin(), a.end());
  both.insert(both.end(), b.begin(), b.end());
  const std::vector<double> ranks = MeanRanks(both);
  const std::span<const double> all(ranks);
  const Side left = Placements(all.first(a.size()), MeanRanks(a));
  const Side right = Placements(all.subspan(a.size()), MeanRanks(b));
  const double total = left.count + right.count;
  const double from_left = left.count * left.variance;
  const double from_right = right.count * right.variance;
  const double difference = right.mean_rank - left.mean_rank;
  if (from_left + from_right <= 0) {
    return difference == 0 ? 1 : CompleteSeparation(left.count, right.count);
  }
  const double statistic =
      left.count * right.count * difference / (total * std::sqrt(from_left + from_right));
  const double degrees =
      (from_left + from_right) * (from_left + from_right) /
      (from_left * from_left / (left.count - 1) + from_right * from_right / (right.count - 1));
  return StudentTwoSided(statistic, degrees);
}

}  // namespace kbench::stats
