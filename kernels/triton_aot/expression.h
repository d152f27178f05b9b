// Whole-number expressions over a problem's extents, as
// kernels/python/kbench_kernels/expressions.py has them: numbers, names, + - * // %, cdiv, min and
// max of two, comparisons and `and`. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "kernels/catalog/expected.h"

namespace kbench::aot {

using Names = std::map<std::string, std::int64_t, std::less<>>;

// The value; a condition that holds is 1. Or what is wrong: a name without a value, a division by
// 0, what does not fit in 64 bits, what is no such expression.
Expected<std::int64_t, std::string> Evaluate(std::string_view expression, const Names& names);

}  // namespace kbench::aot
