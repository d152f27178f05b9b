#include "kernels/reference/linear.h"

#include <algorithm>
#include <cmath>

#include "kernels/reference/convert.h"
#include "kernels/reference/simd.h"

namespace kbench::reference {
namespace {

// Four doubles, loaded from anywhere.
typedef double Vector __attribute__((vector_size(32)));
typedef double Unaligned __attribute__((vector_size(32), aligned(8), may_alias));
constexpr int kVectors = kPanel / 4;

template <int kRows>
KB_INLINE void PanelRows(const double* a, std::int64_t stride, std::int64_t depth,
                         const double* panel, double* out) {
  Vector sums[kRows][kVectors] = {};
  for (std::int64_t p = 0; p < depth; ++p) {
    for (int v = 0; v < kVectors; ++v) {
      const Vector b = *reinterpret_cast<const Unaligned*>(panel + p * kPanel + 4 * v);
      for (int r = 0; r < kRows; ++r) sums[r][v] += a[r * stride + p] * b;
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      *reinterpret_cast<Unaligned*>(out + r * kPanel + 4 * v) += sums[r][v];
    }
  }
}

KB_INLINE void PanelBody(const double* a, std::int64_t stride, std::int64_t rows,
                         std::int64_t depth, const double* panel, double* out) {
  std::int64_t row = 0;
  for (; row + 2 <= rows; row += 2) {
    PanelRows<2>(a + row * stride, stride, depth, panel, out + row * kPanel);
  }
  if (row < rows) PanelRows<1>(a + row * stride, stride, depth, panel, out + row * kPanel);
}

KB_AVX2 void PanelAvx2(const double* a, std::int64_t stride, std::int64_t rows, std::int64_t depth,
                       const double* panel, double* out) {
  PanelBody(a, stride, rows, depth, panel, out);
}

KB_INLINE void AddRowsBody(const double* factors, std::int64_t count, const double* rows,
                           std::int64_t cols, double* __restrict out) {
  std::int64_t i = 0;
  for (; i + 4 <= count; i += 4) {
    const double f0 = factors[i], f1 = factors[i + 1], f2 = factors[i + 2], f3 = factors[i + 3];
    const double* r0 = rows + i * cols;
    for (std::int64_t j = 0; j < cols; ++j) {
      out[j] += (f0 * r0[j] + f1 * r0[cols + j]) + (f2 * r0[2 * cols + j] + f3 * r0[3 * cols + j]);
    }
  }
  for (; i < count; ++i) {
    for (std::int64_t j = 0; j < cols; ++j) out[j] += factors[i] * rows[i * cols + j];
  }
}

KB_AVX2 void AddRowsAvx2(const double* factors, std::int64_t count, const double* rows,
                         std::int64_t cols, double* out) {
  AddRowsBody(factors, count, rows, cols, out);
}

// x = n ln 2 + r with |r| <= ln(2) / 2; e^r by its series to the 13th power, whose rest is below
// 2^-57; 2^n by the exponent's bits.
KB_INLINE double ExpOf(double x) {
  constexpr double kRound = 0x1.8p52;  // added and taken away again, it rounds to an integer
  constexpr double kLog2E = 0x1.71547652b82fep0;
  constexpr double kLn2High = 0x1.62e42fee00000p-1, kLn2Low = 0x1.a39ef35793c76p-33;
  constexpr double kFactorials[] = {6227020800.0, 479001600.0, 39916800.0, 3628800.0, 362880.0,
                                    40320.0,      5040.0,      720.0,      120.0,     24.0,
                                    6.0,          2.0,         1.0,        1.0};
  const double bounded = x < -700 ? -700 : x;
  const double shifted = bounded * kLog2E + kRound;
  const double n = shifted - kRound;
  const double r = (bounded - n * kLn2High) - n * kLn2Low;
  double power = 1 / kFactorials[0];
  for (int i = 1; i < 14; ++i) power = power * r + 1 / kFactorials[i];
  const std::uint64_t exponent = BitCast<std::uint64_t>(shifted) << 52;
  const double result = BitCast<double>(BitCast<std::uint64_t>(power) + exponent);
  return x < -700 ? 0 : result;
}

KB_INLINE void ExpBody(double* values, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) values[i] = ExpOf(values[i]);
}

KB_AVX2 void ExpAvx2(double* values, std::int64_t count) { ExpBody(values, count); }

}  // namespace

void PanelMultiply(const double* a, std::int64_t stride, std::int64_t rows, std::int64_t depth,
                   const double* panel, double* out) {
  if (HasAvx2()) return PanelAvx2(a, stride, rows, depth, panel, out);
  PanelBody(a, stride, rows, depth, panel, out);
}

void AddRows(const double* factors, std::int64_t count, const double* rows, std::int64_t cols,
             double* out) {
  if (HasAvx2()) return AddRowsAvx2(factors, count, rows, cols, out);
  AddRowsBody(factors, count, rows, cols, out);
}

void ExpInPlace(double* values, std::int64_t count) {
  if (HasAvx2()) return ExpAvx2(values, count);
  ExpBody(values, count);
}

double Sum(const double* values, std::int64_t count) {
  double lanes[8] = {};
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    for (int lane = 0; lane < 8; ++lane) lanes[lane] += values[i + lane];
  }
  for (; i < count; ++i) lanes[i % 8] += values[i];
  return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
         ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}

Difference Compare(const double* output, const double* reference, std::int64_t count) {
  Difference total;
  for (std::int64_t i = 0; i < count; ++i) {
    const double error = std::abs(output[i] - reference[i]);
    total.squared_error += error * error;
    total.squared_output += output[i] * output[i];
    total.squared_reference += reference[i] * reference[i];
    total.largest_reference = std::max(total.largest_reference, std::abs(reference[i]));
    if (error > total.largest_error) {
      total.largest_error = error;
      total.worst = i;
    }
  }
  return total;
}

}  // namespace kbench::reference
