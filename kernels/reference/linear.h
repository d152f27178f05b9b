// The fp64 loops that references spend their time in. Private to the reference library.
// Thread-safe.
#pragma once

#include <cstdint>

namespace kbench::reference {

// Columns of a panel: also how many random vectors or query rows are handled at once.
inline constexpr std::int64_t kPanel = 16;

// out[rows x kPanel] += a[rows x depth] * panel[depth x kPanel], row-major; rows of `a` lie
// `stride` apart. For accuracy keep `depth` at some hundreds and add up over calls.
void PanelMultiply(const double* a, std::int64_t stride, std::int64_t rows, std::int64_t depth,
                   const double* panel, double* out);

// out[cols] += sum over i of factors[i] * rows[i * cols ...]
void AddRows(const double* factors, std::int64_t count, const double* rows, std::int64_t cols,
             double* out);

// values[i] = exp(values[i]), within 2 units in the last place; 0 below -700. For finite values
// below 700.
void ExpInPlace(double* values, std::int64_t count);

// In eight lanes: as exact as a short tree.
double Sum(const double* values, std::int64_t count);

struct Difference {
  double squared_error = 0, squared_output = 0, squared_reference = 0;
  double largest_error = 0, largest_reference = 0;
  std::int64_t worst = 0;  // index of the largest error
};
Difference Compare(const double* output, const double* reference, std::int64_t count);

}  // namespace kbench::reference
