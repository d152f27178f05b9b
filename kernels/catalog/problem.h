// A Problem: kernel, dtype and shape, resolved and within bounds. Made only by the catalog. A plain
// value type.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kernels/catalog/dtype.h"

namespace kbench {

enum class Mode { kCold, kHot, kGraph, kSteady };

// Named extents in canonical order, and the two attributes some kernels have.
struct Shape {
  std::vector<std::pair<std::string, std::int64_t>> dims;  // {"m",4096},{"n",4096},{"k",4096}
  std::string layout;                                      // matmul: nn, nt, tn, tt; else empty
  bool causal = false;                                     // attention

  // The extent, or 0 when the shape has none of this name.
  std::int64_t operator[](const std::string& name) const;
  // "m=4096,n=4096,k=4096,layout=nn"
  std::string Canonical() const;
  friend bool operator==(const Shape&, const Shape&) = default;
};

struct Problem {
  std::string kernel;
  DType dtype = DType::kFp32;
  Shape shape;
  Mode mode = Mode::kCold;
};

// One operand of a problem, row-major and dense. The output is last.
struct OperandSpec {
  std::string name;                   // "a", "b", "c"
  DType storage = DType::kFp32;       // how elements lie in memory: never kTf32, which is kFp32
  std::vector<std::int64_t> extents;  // {m, k}
  bool output = false;
  // Inputs are uniform in [-1, 1); where a sum would cancel to nearly nothing, in [0, 1).
  bool positive = false;

  std::int64_t elements() const;
  std::int64_t bytes() const;
};

}  // namespace kbench
