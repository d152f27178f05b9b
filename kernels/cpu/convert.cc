#include "kernels/cpu/convert.h"

#include <algorithm>

#include "kernels/cpu/element.h"
#include "kernels/cpu_features.h"

#if defined(__x86_64__)
#include <immintrin.h>
#define KBENCH_AVX2 __attribute__((target("avx2,f16c")))
#endif

namespace kbench {
namespace {

template <typename From, typename To>
using Converter = void (*)(const From*, To*, std::int64_t);

template <float (*Convert)(std::uint16_t)>
void WidenScalar(const std::uint16_t* from, float* to, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) to[i] = Convert(from[i]);
}

template <std::uint16_t (*Convert)(float)>
void NarrowScalar(const float* from, std::uint16_t* to, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) to[i] = Convert(from[i]);
}

#if defined(__x86_64__)

KBENCH_AVX2 void WidenHalf(const std::uint16_t* from, float* to, std::int64_t n) {
  std::int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m128i half = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(half));
  }
  WidenScalar<HalfBitsToFloat>(from + i, to + i, n - i);
}

KBENCH_AVX2 void NarrowHalf(const float* from, std::uint16_t* to, std::int64_t n) {
  std::int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m128i half = _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), half);
  }
  NarrowScalar<FloatToHalfBits>(from + i, to + i, n - i);
}

KBENCH_AVX2 void WidenBfloat(const std::uint16_t* from, float* to, std::int64_t n) {
  std::int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
    const __m256i wide = _mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16);
    _mm256_storeu_ps(to + i, _mm256_castsi256_ps(wide));
  }
  WidenScalar<BfloatBitsToFloat>(from + i, to + i, n - i);
}

// Eight fp32 values as bf16 in the low halves of eight 32-bit lanes.
KBENCH_AVX2 __m256i RoundToBfloat(__m256 value) {
  const __m256i bits = _mm256_castps_si256(value);
  const __m256i top = _mm256_srli_epi32(bits, 16);
  const __m256i odd = _mm256_and_si256(top, _mm256_set1_epi32(1));
  const __m256i bias = _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff));
  const __m256i rounded = _mm256_srli_epi32(_mm256_add_epi32(bits, bias), 16);
  const __m256i quiet = _mm256_or_si256(top, _mm256_set1_epi32(0x40));
  const __m256i is_nan = _mm256_castps_si256(_mm256_cmp_ps(value, value, _CMP_UNORD_Q));
  return _mm256_blendv_epi8(rounded, quiet, is_nan);
}

KBENCH_AVX2 void NarrowBfloat(const float* from, std::uint16_t* to, std::int64_t n) {
  std::int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    const __m256i low = RoundToBfloat(_mm256_loadu_ps(from + i));
    const __m256i high = RoundToBfloat(_mm256_loadu_ps(from + i + 8));
    // packus works within 128-bit halves: put the four quarters back in order.
    const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(low, high), 0xd8);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i), packed);
  }
  NarrowScalar<FloatToBfloatBits>(from + i, to + i, n - i);
}

Converter<std::uint16_t, float> Widener(DType dtype) {
  if (CpuHasAvx2()) return dtype == DType::kFp16 ? WidenHalf : WidenBfloat;
  return dtype == DType::kFp16 ? WidenScalar<HalfBitsToFloat> : WidenScalar<BfloatBitsToFloat>;
}

Converter<float, std::uint16_t> Narrower(DType dtype) {
  if (CpuHasAvx2()) return dtype == DType::kFp16 ? NarrowHalf : NarrowBfloat;
  return dtype == DType::kFp16 ? NarrowScalar<FloatToHalfBits> : NarrowScalar<FloatToBfloatBits>;
}

#else

Converter<std::uint16_t, float> Widener(DType dtype) {
  return dtype == DType::kFp16 ? WidenScalar<HalfBitsToFloat> : WidenScalar<BfloatBitsToFloat>;
}

Converter<float, std::uint16_t> Narrower(DType dtype) {
  return dtype == DType::kFp16 ? NarrowScalar<FloatToHalfBits> : NarrowScalar<FloatToBfloatBits>;
}

#endif

template <typename From, typename To>
void InChunks(Converter<From, To> convert, const From* from, To* to, std::int64_t n, int threads) {
  // Below this much work a thread costs more than it saves.
  constexpr std::int64_t kLeast = 16384;
  const int parts = static_cast<int>(std::clamp<std::int64_t>(n / kLeast, 1, std::max(threads, 1)));
  const std::int64_t chunk = (n + parts - 1) / parts;
  // ThreadSanitizer does not see libgomp's barriers and would report every chunk as a race.
#if defined(_OPENMP) && !defined(KBENCH_TSAN)
#pragma omp parallel for num_threads(parts) schedule(static, 1) if (parts > 1)
#endif
  for (int part = 0; part < parts; ++part) {
    const std::int64_t begin = std::min(n, part * chunk);
    convert(from + begin, to + begin, std::min(chunk, n - begin));
  }
}

}  // namespace

void ConvertToFp32(DType dtype, const std::uint16_t* from, float* to, std::int64_t n, int threads) {
  InChunks(Widener(dtype), from, to, n, threads);
}

void ConvertFromFp32(DType dtype, const float* from, std::uint16_t* to, std::int64_t n,
                     int threads) {
  InChunks(Narrower(dtype), from, to, n, threads);
}

const char* ConversionPath() { return CpuHasAvx2() ? "avx2" : "scalar"; }

}  // namespace kbench
