#include "stats/robust_scale.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <numbers>
#include <random>
#include <vector>

#include "stats/summary.h"

namespace kbench::stats {
namespace {

std::vector<double> Gauss(std::size_t n, std::mt19937_64& bits) {
  const auto uniform = [&] { return (static_cast<double>(bits() >> 11) + 0.5) * 0x1p-53; };
  std::vector<double> values(n);
  for (double& value : values) {
    value = std::sqrt(-2 * std::log(uniform())) * std::cos(2 * std::numbers::pi * uniform());
  }
  return values;
}

TEST(RobustScale, FewOrEqualValues) {
  EXPECT_EQ(RobustScale({}), 0);
  EXPECT_EQ(RobustScale(std::vector<double>{3}), 0);
  EXPECT_EQ(RobustScale(std::vector<double>(9, 1.5)), 0);
  // By hand: of 1 2 4 8 16 the third smallest distance is 3.
  EXPECT_NEAR(RobustScale(std::vector<double>{8, 1, 16, 2, 4}), 2.2219 * 0.844 * 3, 1e-12);
}

TEST(RobustScale, OfNormalNoiseIsItsStandardDeviation) {
  std::mt19937_64 bits(7);
  for (const std::size_t n : {2u, 5u, 6u, 9u, 10u, 20u, 51u}) {
    double sum = 0;
    constexpr int kRuns = 4000;
    for (int run = 0; run < kRuns; ++run) sum += RobustScale(Gauss(n, bits));
    EXPECT_NEAR(sum / kRuns, 1, 0.06) << n;
  }
}

TEST(RobustScale, OutliersAndAStepBarelyShow) {
  std::mt19937_64 bits(8);
  std::vector<double> values = Gauss(50, bits);
  const double before = RobustScale(values);
  for (std::size_t i = 0; i < 5; ++i) values[i * 9] += 1000;
  EXPECT_LT(RobustScale(values), 1.5 * before);
  std::vector<double> step = Gauss(50, bits);
  for (std::size_t i = 40; i < 50; ++i) step[i] += 100;
  EXPECT_LT(RobustScale(step), 2);
  EXPECT_GT(StdDev(step), 30);
}

}  // namespace
}  // namespace kbench::stats
