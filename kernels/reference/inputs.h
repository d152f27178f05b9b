// The inputs of a problem, made from a seed: uniform, rounded to the storage type, the same on host
// and device (random.h). Thread-safe.
#pragma once

#include <cstdint>

#include "kernels/catalog/problem.h"

namespace kbench::reference {

// Writes elements [begin, begin + count) of input number `operand` (its place in the catalog's
// operands) to `destination`, which receives element `begin` first. The result does not depend on
// how an operand is cut or on `threads`.
void FillInput(const OperandSpec& spec, int operand, std::uint64_t seed, void* destination,
               std::int64_t begin, std::int64_t count, int threads = 1);

// The same elements as the numbers they stand for: rounded to the storage type, then widened.
void InputValues(const OperandSpec& spec, int operand, std::uint64_t seed, std::int64_t begin,
                 std::int64_t count, double* values);

}  // namespace kbench::reference
