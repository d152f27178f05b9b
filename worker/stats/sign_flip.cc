#include "worker/stats/sign_flip.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

namespace kbench::stats {
namespace {

constexpr std::size_t kMostExact = 16;
constexpr int kDraws = 20'000;

// Sums of up to eight differences under all their sign patterns; bit i of a pattern set: the i-th
// is counted with the other sign.
using Block = std::array<double, 256>;

std::vector<Block> BlocksOf(std::span<const double> differences) {
  std::vector<Block> blocks;
  for (std::size_t begin = 0; begin < differences.size(); begin += 8) {
    const auto part =
        differences.subspan(begin, std::min<std::size_t>(8, differences.size() - begin));
    Block& block = blocks.emplace_back();
    for (std::size_t pattern = 0; pattern < block.size(); ++pattern) {
      double sum = 0;
      for (std::size_t i = 0; i < part.size(); ++i) {
        sum += (pattern >> i & 1) != 0 ? -part[i] : part[i];
      }
      block[pattern] = sum;
    }
  }
  return blocks;
}

int CountDrawn(const std::vector<Block>& blocks, double extreme, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  int hits = 0;
  for (int draw = 0; draw < kDraws; ++draw) {
    double sum = 0;
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < blocks.size(); ++i, bits >>= 8) {
      if (i % 8 == 0) bits = random();
      sum += blocks[i][bits & 0xff];
    }
    hits += std::fabs(sum) >= extreme ? 1 : 0;
  }
  return hits;
}

// All patterns of at most two blocks.
double ExactShare(const std::vector<Block>& blocks, std::size_t count, double extreme) {
  const std::size_t patterns = std::size_t{1} << count;
  std::size_t hits = 0;
  for (std::size_t pattern = 0; pattern < patterns; ++pattern) {
    double sum = blocks[0][pattern & 0xff];
    if (blocks.size() > 1) sum += blocks[1][pattern >> 8];
    hits += std::fabs(sum) >= extreme ? 1 : 0;
  }
  return static_cast<double>(hits) / static_cast<double>(patterns);
}

}  // namespace

double SignFlip(std::span<const double> differences, std::uint64_t seed) {
  if (differences.empty()) return 1;
  double scale = 0;
  for (const double value : differences) scale += std::fabs(value);
  const std::vector<Block> blocks = BlocksOf(differences);
  double observed = 0;
  for (const Block& block : blocks) observed += block[0];
  // Patterns that give the same sum in another order of rounding are ties.
  const double extreme = std::fabs(observed) - 1e-12 * scale;
  if (differences.size() <= kMostExact) return ExactShare(blocks, differences.size(), extreme);
  return (1.0 + CountDrawn(blocks, extreme, seed)) / (1.0 + kDraws);
}

}  // namespace kbench::stats
