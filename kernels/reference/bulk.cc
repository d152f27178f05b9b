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

void PhiloxPlain(std::uint64_t seed, std::uint32_t operand, std::uint64_t block, int count,
                 std::uint32_t* words) {
  for (int i = 0; i < count; ++i) {
    const PhiloxBlock made = BlockAt(seed, operand, block + static_cast<unsigned>(i));
    std::memcpy(words + 4 * i, made.word, sizeof(made.word));
  }
}

#if defined(__x86_64__)
// Four counters side by side, each word in the low half of 64 bits. The high halves hold rubbish
// between rounds, which no operation lets down.
struct Four {
  __m256i word[4];
};

KB_AVX2 KB_INLINE void Round(Four& c, __m256i key0, __m256i key1) {
  const __m256i product0 = _mm256_mul_epu32(c.word[0], _mm256_set1_epi64x(kPhiloxM0));
  const __m256i product1 = _mm256_mul_epu32(c.word[2], _mm256_set1_epi64x(kPhiloxM1));
  c.word[0] = _mm256_xor_si256(_mm256_srli_epi64(product1, 32), _mm256_xor_si256(c.word[1], key0));
  c.word[1] = product1;
  c.word[2] = _mm256_xor_si256(_mm256_srli_epi64(product0, 32), _mm256_xor_si256(c.word[3], key1));
  c.word[3] = product0;
}

KB_AVX2 KB_INLINE Four Counters(std::uint32_t operand, std::uint64_t block) {
  const __m256i number = _mm256_add_epi64(_mm256_set1_epi64x(static_cast<long long>(block)),
                                          _mm256_setr_epi64x(0, 1, 2, 3));
  return {
      {number, _mm256_srli_epi64(number, 32), _mm256_set1_epi64x(operand), _mm256_setzero_si256()}};
}

// The words of the four blocks, one block after the other.
KB_AVX2 KB_INLINE void Store(const Four& c, std::uint32_t* words) {
  const __m256i low = _mm256_set1_epi64x(0xffffffff);
  const __m256i first =
      _mm256_or_si256(_mm256_and_si256(c.word[0], low), _mm256_slli_epi64(c.word[1], 32));
  const __m256i second =
      _mm256_or_si256(_mm256_and_si256(c.word[2], low), _mm256_slli_epi64(c.word[3], 32));
  const __m256i even = _mm256_unpacklo_epi64(first, second);  // blocks 0 and 2
  const __m256i odd = _mm256_unpackhi_epi64(first, second);   // blocks 1 and 3
  __m256i* to = reinterpret_cast<__m256i*>(words);
  _mm256_storeu_si256(to, _mm256_permute2x128_si256(even, odd, 0x20));
  _mm256_storeu_si256(to + 1, _mm256_permute2x128_si256(even, odd, 0x31));
}

KB_AVX2 void PhiloxAvx2(std::uint64_t seed, std::uint32_t operand, std::uint64_t block, int count,
                        std::uint32_t* words) {
  int done = 0;
  for (; done + 8 <= count; done += 8) {
    Four a = Counters(operand, block + static_cast<unsigned>(done));
    Four b = Counters(operand, block + static_cast<unsigned>(done) + 4);
    std::uint32_t key0 = static_cast<std::uint32_t>(seed);
    std::uint32_t key1 = static_cast<std::uint32_t>(seed >> 32);
    for (int round = 0; round < 10; ++round) {
      const __m256i k0 = _mm256_set1_epi64x(key0), k1 = _mm256_set1_epi64x(key1);
      Round(a, k0, k1);
      Round(b, k0, k1);
      key0 += kPhiloxW0;
      key1 += kPhiloxW1;
    }
    Store(a, words + 4 * done);
    Store(b, words + 4 * done + 16);
  }
  PhiloxPlain(seed, operand, block + static_cast<unsigned>(done), count - done, words + 4 * done);
}
#else
void PhiloxAvx2(std::uint64_t, std::uint32_t, std::uint64_t, int, std::uint32_t*) {}
#endif

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
  if (HasAvx2()) return PhiloxAvx2(seed, operand, block, count, words);
  PhiloxPlain(seed, operand, block, count, words);
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
    case DType::kInt32:
      for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<const std::int32_t*>(from)[i];
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
