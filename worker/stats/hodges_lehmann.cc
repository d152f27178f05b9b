#include "worker/stats/hodges_lehmann.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "stats/summary.h"
#include "worker/stats/distributions.h"

namespace kbench::stats {
namespace {

constexpr int kMostExact = 60;

// P(U = u) for u = 0 .. n m, by the recursion of Mann and Whitney (1947) on the largest of all
// values: with probability n / (n + m) it is one of the n and lies above all m.
std::vector<double> MannWhitneyDistribution(int n, int m) {
  const auto size = static_cast<std::size_t>(n) * static_cast<std::size_t>(m) + 1;
  // by_n[i]: the distribution for i and the current number of the other side.
  std::vector<std::vector<double>> by_n(static_cast<std::size_t>(n) + 1,
                                        std::vector<double>(size, 0.0));
  for (auto& row : by_n) row[0] = 1;  // the other side is empty
  for (int j = 1; j <= m; ++j) {
    for (int i = 1; i <= n; ++i) {
      const auto& above = by_n[static_cast<std::size_t>(i) - 1];
      auto& own = by_n[static_cast<std::size_t>(i)];
      const double first = static_cast<double>(i) / (i + j);
      // In place: `own` still holds j - 1, `above` holds j already.
      for (int u = i * j; u >= 0; --u) {
        const double from_above = u >= j ? above[static_cast<std::size_t>(u - j)] : 0;
        own[static_cast<std::size_t>(u)] =
            first * from_above + (1 - first) * own[static_cast<std::size_t>(u)];
      }
    }
  }
  return by_n[static_cast<std::size_t>(n)];
}

}  // namespace

int MannWhitneyRank(int n, int m, double alpha) {
  if (n < 1 || m < 1) return 0;
  if (n > kMostExact || m > kMostExact) {
    const double product = static_cast<double>(n) * m;
    const double spread = std::sqrt(product * (n + m + 1) / 12);
    const double rank = product / 2 - NormalQuantile(1 - alpha / 2) * spread;
    return std::max(0, static_cast<int>(std::floor(rank)));
  }
  const std::vector<double> distribution = MannWhitneyDistribution(n, m);
  double tail = 0;
  int rank = 0;
  for (const double probability : distribution) {
    tail += probability;
    if (tail > alpha / 2) break;
    ++rank;
  }
  return rank;
}

Shift HodgesLehmann(std::span<const double> a, std::span<const double> b, double alpha) {
  std::vector<double> differences;
  differences.reserve(a.size() * b.size());
  for (const double x : a) {
    for (const double y : b) differences.push_back(x - y);
  }
  std::sort(differences.begin(), differences.end());
  Shift shift;
  shift.interval.centre = QuantileSorted(differences, 0.5);
  const int rank = MannWhitneyRank(static_cast<int>(a.size()), static_cast<int>(b.size()), alpha);
  if (rank < 1) return shift;
  shift.valid = true;
  shift.interval.low = differences[static_cast<std::size_t>(rank - 1)];
  shift.interval.high = differences[differences.size() - static_cast<std::size_t>(rank)];
  return shift;
}

}  // namespace kbench::stats
