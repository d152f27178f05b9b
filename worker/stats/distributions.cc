#include "worker/stats/distributions.h"

#include <cmath>

namespace kbench::stats {
namespace {

// Lentz's evaluation of the continued fraction of the incomplete beta function (Press et al.,
// Numerical Recipes, section 6.4). Converges fast for x < (a + 1) / (a + b + 2).
double BetaFraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  constexpr double kPrecise = 1e-15;
  constexpr int kMostTerms = 500;
  const auto nonzero = [](double value) { return std::fabs(value) < kTiny ? kTiny : value; };
  double c = 1;
  double d = 1 / nonzero(1 - (a + b) * x / (a + 1));
  double fraction = d;
  for (int m = 1; m <= kMostTerms; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / nonzero(1 + even * d);
    c = nonzero(1 + even / c);
    fraction *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / nonzero(1 + odd * d);
    c = nonzero(1 + odd / c);
    fraction *= d * c;
    if (std::fabs(d * c - 1) < kPrecise) break;
  }
  return fraction;
}

// The regularised incomplete beta function I_x(a, b).
double IncompleteBeta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
                                a * std::log(x) + b * std::log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return front * BetaFraction(a, b, x) / a;
  return 1 - front * BetaFraction(b, a, 1 - x) / b;
}

}  // namespace

double NormalQuantile(double p) {
  // Bisection on the error function: called a few times a result, and exact to the last digits.
  double low = -40;
  double high = 40;
  while (high - low > 1e-13) {
    const double middle = (low + high) / 2;
    (0.5 * std::erfc(-middle / std::sqrt(2.0)) < p ? low : high) = middle;
  }
  return (low + high) / 2;
}

double StudentTwoSided(double t, double degrees) {
  return IncompleteBeta(degrees / 2, 0.5, degrees / (degrees + t * t));
}

}  // namespace kbench::stats
