#include "worker/stats/sign_flip.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>

namespace kbench::stats {
namespace {

constexpr std::size_t kMostExact = 16;
constexpr int kDraws = 20'000;

// Bit i of `pattern` set: the i-th difference is counted with the other sign.
double SumWith(std::span<const double> differences, std::uint64_t pattern) {
  double sum = 0;
  for (std::size_t i = 0; i < differences.size(); ++i) {
    sum += (pattern >> i & 1) != 0 ? -differences[i] : differences[i];
  }
  return sum;
}

}  // namespace

double SignFlip(std::span<const double> differences, std::uint64_t seed) {
  if (differences.empty()) return 1;
  double scale = 0;
  for (const double value : differences) scale += std::fabs(value);
  // Patterns that give the same sum in another order of rounding are ties.
  const double extreme = std::fabs(SumWith(differences, 0)) - 1e-12 * scale;
  if (differences.size() <= kMostExact) {
    const std::uint64_t patterns = std::uint64_t{1} << differences.size();
    std::uint64_t hits = 0;
    for (std::uint64_t pattern = 0; pattern < patterns; ++pattern) {
      hits += std::fabs(SumWith(differences, pattern)) >= extreme ? 1 : 0;
    }
    return static_cast<double>(hits) / static_cast<double>(patterns);
  }
  std::mt19937_64 random(seed);
  int hits = 0;
  for (int draw = 0; draw < kDraws; ++draw) {
    double sum = 0;
    for (std::size_t begin = 0; begin < differences.size(); begin += 64) {
      const std::size_t count = std::min<std::size_t>(64, differences.size() - begin);
      sum += SumWith(differences.subspan(begin, count), random());
    }
    hits += std::fabs(sum) >= extreme ? 1 : 0;
  }
  return (1.0 + hits) / (1.0 + kDraws);
}

}  // namespace kbench::stats
