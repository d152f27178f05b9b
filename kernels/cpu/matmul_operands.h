// A matmul problem as the libraries ask for it. A plain value type.
#pragma once

#include <cstdint>

#include "kernels/catalog/problem.h"

namespace kbench {

// c[m, n] = op(a) * op(b), all row-major. `transposed_a` says that a lies in memory as [k, m].
struct MatmulOperands {
  std::int64_t m, n, k;
  bool transposed_a, transposed_b;

  explicit MatmulOperands(const Shape& shape)
      : m(shape["m"]),
        n(shape["n"]),
        k(shape["k"]),
        transposed_a(shape.layout[0] == 't'),
        transposed_b(shape.layout[1] == 't') {}

  std::int64_t a_elements() const { return m * k; }
  std::int64_t b_elements() const { return k * n; }
  std::int64_t c_elements() const { return m * n; }
  // Elements from one row in memory to the next.
  std::int64_t leading_a() const { return transposed_a ? m : k; }
  std::int64_t leading_b() const { return transposed_b ? k : n; }
};

}  // namespace kbench
