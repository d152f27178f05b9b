// Whole arrays between the half types and fp32, on several threads and with F16C and AVX2 where
// this CPU has them. The results are those of element.h, bit for bit, but for the payload of a NaN.
// Thread-safe.
#pragma once

#include <cstdint>

#include "kernels/catalog/dtype.h"

namespace kbench {

// `dtype` is kFp16 or kBf16.
void ConvertToFp32(DType dtype, const std::uint16_t* from, float* to, std::int64_t n, int threads);
void ConvertFromFp32(DType dtype, const float* from, std::uint16_t* to, std::int64_t n,
                     int threads);
// "avx2" or "scalar": what the two above use here.
const char* ConversionPath();

}  // namespace kbench
