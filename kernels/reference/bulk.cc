#include "kernels/reference/bulk.h"

#include <cstring>

#include "kernels/reference/convert.h"
#include "kernels/reference/random.h"
#include "kernels/reference/simd.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace kbench::reference {
namespace {

constexpr int kLanes = 16;

// Ten rounds on kLanes counters at once.
KB_INLINE void PhiloxLanes(std::uint64_t seed, std::uint32_t operand, std::uint64_t block,
                           std::uint32_t (*words)[4]) {
  std::uint32_t c0[kLanes], c1[kLanes], c2[kLanes], c3[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) {
    const std::uint64_t counter = block + static_cast<unsigned>(lane);
    c0[lane] = static_cast<std::uint32_t>(counter);
    c1[lane] = static_cast<std::uint32_t>(counter >> 32);
    c2[lane] = operand;
    c3[lane] = 0;
  }
  std::uint32_t key0 = static_cast<std::uint32_t>(seed);
  std::uint32_t key1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    for (int lane = 0; lane < kLanes; ++lane) {
      const std::uint64_t product0 = static_cast<std::uint64_t>(kPhiloxM0) * c0[lane];
      const std::uint64_t product1 = static_cast<std::uint64_t>(kPhiloxM1) * c2[lane];
      c0[lane] = static_cast<std::uint32_t>(product1 >> 32) ^ c1[lane] ^ key0;
      c1[lane] = static_cast<std::uint32_t>(product1);
      c2[lane] = static_cast<std::uint32_t>(product0 >> 32) ^ c3[lane] ^ key1;
      c3[lane] = static_cast<std::uint32_t>(product0);
    }
    key0 += kPhiloxW0;
    key1 += kPhiloxW1;
  }
  for (int lane = 0; lane < kLanes; ++lane) {
    words[lane][0] = c0[lane];
    words[lane][1] = c1[lane];
    words[lane][2] = c2[lane];
    words[lane][3] = c3[lane];
  }
}

KB_INLINE void PhiloxRun(std::uint64_t seed, std::uint32_t operand, std::uint64_t block, int count,
                         std::uint32_t* words) {
  int done = 0;
  std::uint32_t lanes[kLanes][4];
  for (; done < count; done += kLanes) {
    PhiloxLanes(seed, operand, block + static_cast<unsigned>(done), lanes);
    const int rest = count - done < kLanes ? count - done : kLanes;
    std::memcpy(words + 4 * done, lanes, sizeof(lanes[0]) * static_cast<unsigned>(rest));
  }
}

KB_AVX2 void PhiloxRunAvx2(std::uint64_t seed, std::uint32_t operand, std::uint64_t block,
                           int count, std::uint32_t* words) {
  PhiloxRun(seed, operand, block, count, words);
}

KB_INLINE void Bf16ToDoubles(const std::uint16_t* from, double* to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = Bf16BitsToFloat(from[i]);
}

#if defined(__x86_64__)
KB_AVX2 void FloatsToHalvesAvx2(const float* from, std::uint16_t* to, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m128i halves =
        _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), halves);
  }
  for (; i < count; ++i) to[i] = FloatToHalfBits(from[i]);
}

KB_AVX2 void HalvesToFloatsAvx2(const std::uint16_t* from, float* to, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(halves));
  }
  for (; i < count; ++i) to[i] = HalfBitsToFloat(from[i]);
}

KB_AVX2 void HalvesToDoublesAvx2(const std::uint16_t* from, double* to, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + 4 <= count; i += 4) {
    const __m128i halves = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from + i));
    _mm256_storeu_pd(to + i, _mm256_cvtps_pd(_mm_cvtph_ps(halves)));
  }
  for (; i < count; ++i) to[i] = HalfBitsToFloat(from[i]);
}
#else
void FloatsToHalvesAvx2(const float*, std::uint16_t*, std::int64_t) {}
void HalvesToFloatsAvx2(const std::uint16_t*, float*, std::int64_t) {}
void HalvesToDoublesAvx2(const std::uint16_t*, double*, std::int64_t) {}
#endif

KB_AVX2 void Bf16ToDoublesAvx2(const std::uint16_t* from, double* to, std::int64_t count) {
  Bf16ToDoubles(from, to, count);
}

void HalvesToDoubles(const std::uint16_t* from, double* to, std::int64_t count) {
  if (HasAvx2()) return HalvesToDoublesAvx2(from, to, count);
  for (std::int64_t i = 0; i < count; ++i) to[i] = HalfBitsToFloat(from[i]);
}

}  // namespace

void PhiloxWords(std::uint64_t seed, std::uint32_t operand, std::uint64_t block, int count,
                 std::uint32_t* words) {
  if (HasAvx2()) return PhiloxRunAvx2(seed, operand, block, count, words);
  PhiloxRun(seed, operand, block, count, words);
}

void FloatsToHalves(const float* from, std::uint16_t* to, std::int64_t count) {
  if (HasAvx2()) return FloatsToHalvesAvx2(from, to, count);
  for (std::int64_t i = 0; i < count; ++i) to[i] = FloatToHalfBits(from[i]);
}

void HalvesToFloats(const std::uint16_t* from, float* to, std::int64_t count) {
  if (HasAvx2()) return HalvesToFloatsAvx2(from, to, count);
  for (std::int64_t i = 0; i < count; ++i) to[i] = HalfBitsToFloat(from[i]);
}

void ToDoubles(DType storage, const void* from, double* to, std::int64_t count) {
  const std::size_t bytes = static_cast<std::size_t>(count) * Info(storage).storage_bytes;
  switch (storage) {
    case DType::kFp64:
      std::memcpy(to, from, bytes);
      return;
    case DType::kFp16:
      return HalvesToDoubles(static_cast<const std::uint16_t*>(from), to, count);
    case DType::kBf16:
      if (HasAvx2()) return Bf16ToDoublesAvx2(static_cast<const std::uint16_t*>(from), to, count);
      return Bf16ToDoubles(static_cast<const std::uint16_t*>(from), to, count);
    case DType::kFp8E4M3:
      for (std::int64_t i = 0; i < count; ++i) {
        to[i] = Fp8E4M3BitsToFloat(static_cast<const std::uint8_t*>(from)[i]);
      }
      return;
    case DType::kInt8:
      for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<const std::int8_t*>(from)[i];
      return;
    default:
      for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<const float*>(from)[i];
  }
}

const void* ElementAt(DType storage, const void* base, std::int64_t index) {
  return static_cast<const char*>(base) +
         static_cast<std::size_t>(index) * Info(storage).storage_bytes;
}

}  // namespace kbench::reference
