#include <cstddef>

#include "stats/summary.h"
#include "worker/stats/comparison.h"

namespace kbench::stats {
namespace {

constexpr std::size_t kLeastPairs = 10;
// Shorter rounds say nothing about their own correlation.
constexpr std::size_t kLeastLength = 6;
constexpr double kMostCorrelation = 0.99;

// What products / squares below expect of rounds of `length` samples whose lag-k correlation is
// rho^k. Deviations are taken from the round's own mean m, of variance v = Var(m) and with
// cov(x_0, m) = c: the squares expect n (1 - v), the products (n - 1) rho - (n + 1) v + 2 c.
double ExpectedRatio(double rho, std::size_t length) {
  const double n = static_cast<double>(length);
  double power = 1;
  double first = 1;     // n c
  double variance = n;  // n^2 v
  for (std::size_t k = 1; k < length; ++k) {
    power *= rho;
    first += power;
    variance += 2 * (n - static_cast<double>(k)) * power;
  }
  const double v = variance / (n * n);
  return ((n - 1) * rho - (n + 1) * v + 2 * first / n) / (n * (1 - v));
}

// The rho whose expectation is `ratio`; ExpectedRatio grows with rho.
double Unbiased(double ratio, std::size_t length) {
  double low = -kMostCorrelation;
  double high = kMostCorrelation;
  for (int step = 0; step < 40; ++step) {
    const double middle = (low + high) / 2;
    (ExpectedRatio(middle, length) < ratio ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace

double Lag1Correlation(std::span<const std::vector<double>> rounds) {
  double products = 0;
  double squares = 0;
  std::size_t pairs = 0;
  std::size_t used = 0;
  for (const std::vector<double>& round : rounds) {
    if (round.size() < kLeastLength) continue;
    const double mean = Mean(round);
    for (std::size_t i = 0; i < round.size(); ++i) {
      squares += (round[i] - mean) * (round[i] - mean);
      if (i > 0) products += (round[i] - mean) * (round[i - 1] - mean);
    }
    pairs += round.size() - 1;
    ++used;
  }
  if (pairs < kLeastPairs || squares <= 0) return 0;
  return Unbiased(products / squares, (pairs + used) / used);
}

}  // namespace kbench::stats
