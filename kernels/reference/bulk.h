// Runs of elements at once: random words, and conversion between storage and double. Uses AVX2 and
// F16C where the CPU has them, with the same bits as random.h and convert.h. Private to the
// reference library. Thread-safe.
#pragma once

#include <cstdint>

#include "kernels/catalog/dtype.h"

namespace kbench::reference {

// The words of blocks [block, block + count): words[4 * count].
void PhiloxWords(std::uint64_t seed, std::uint32_t operand, std::uint64_t block, int count,
                 std::uint32_t* words);

// count floats to and from fp16.
void FloatsToHalves(const float* from, std::uint16_t* to, std::int64_t count);
void HalvesToFloats(const std::uint16_t* from, float* to, std::int64_t count);

// Stored elements as the numbers they are.
void ToDoubles(DType storage, const void* from, double* to, std::int64_t count);

// The index of the first value that is NaN or infinite, or -1. Integers are always finite.
std::int64_t FirstNotFinite(DType storage, const void* values, std::int64_t count, int threads);

// The element behind `base` by `index` elements.
const void* ElementAt(DType storage, const void* base, std::int64_t index);

}  // namespace kbench::reference
