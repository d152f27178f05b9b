// Conversions between float and the narrow storage types, on host and device, bit for bit the same:
// round to nearest even. Pure functions.
#pragma once

#include <cstdint>
#include <cstring>

#if defined(__CUDACC__)
#define KB_HD __host__ __device__
#else
#define KB_HD
#endif

namespace kbench::reference {

// std::bit_cast is not callable from device code.
template <typename To, typename From>
KB_HD inline To BitCast(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  memcpy(&to, &from, sizeof(to));
  return to;
}

// Overflow gives infinity.
KB_HD inline std::uint16_t FloatToHalfBits(float value) {
  const std::uint32_t bits = BitCast<std::uint32_t>(value);
  const std::uint16_t sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
  std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude >= 0x47800000u) {  // 65536 and above, infinity, NaN
    return static_cast<std::uint16_t>(sign | (magnitude > 0x7f800000u ? 0x7e00u : 0x7c00u));
  }
  if (magnitude < 0x38800000u) {
    // Below 2^-14: added to 0.5, the last bit of the sum counts 2^-24, a subnormal's unit.
    const float sum = BitCast<float>(magnitude) + 0.5f;
    return static_cast<std::uint16_t>(sign | (BitCast<std::uint32_t>(sum) - 0x3f000000u));
  }
  const std::uint32_t odd = (magnitude >> 13) & 1u;
  magnitude += (static_cast<std::uint32_t>(15 - 127) << 23) + 0xfffu + odd;
  return static_cast<std::uint16_t>(sign | (magnitude >> 13));
}

KB_HD inline float HalfBitsToFloat(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000u) << 16;
  const std::uint32_t magnitude = half & 0x7fffu;
  if (magnitude >= 0x7c00u) return BitCast<float>(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
  if (magnitude < 0x400u) {
    const float value = static_cast<float>(magnitude) * 0x1p-24f;
    return BitCast<float>(sign | BitCast<std::uint32_t>(value));
  }
  return BitCast<float>(sign | ((magnitude << 13) + (static_cast<std::uint32_t>(127 - 15) << 23)));
}

KB_HD inline std::uint16_t FloatToBf16Bits(float value) {
  const std::uint32_t bits = BitCast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>((bits >> 16) | 0x40u);
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

KB_HD inline float Bf16BitsToFloat(std::uint16_t bf16) {
  return BitCast<float>(static_cast<std::uint32_t>(bf16) << 16);
}

// OCP E4M3 (no infinities, NaN is 0x7f); beyond 448 it saturates.
KB_HD inline std::uint8_t FloatToFp8E4M3Bits(float value) {
  const std::uint32_t bits = BitCast<std::uint32_t>(value);
  const std::uint8_t sign = static_cast<std::uint8_t>((bits >> 24) & 0x80u);
  std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<std::uint8_t>(sign | 0x7fu);
  if (magnitude >= 0x43e80000u) return static_cast<std::uint8_t>(sign | 0x7eu);  // 464 and above
  if (magnitude < 0x3c800000u) {
    // Below 2^-6: added to 2^14, the last bit of the sum counts 2^-9, a subnormal's unit.
    const float sum = BitCast<float>(magnitude) + 16384.0f;
    return static_cast<std::uint8_t>(sign | (BitCast<std::uint32_t>(sum) - 0x46800000u));
  }
  const std::uint32_t odd = (magnitude >> 20) & 1u;
  magnitude += (static_cast<std::uint32_t>(7 - 127) << 23) + 0x7ffffu + odd;
  return static_cast<std::uint8_t>(sign | (magnitude >> 20));
}

KB_HD inline float Fp8E4M3BitsToFloat(std::uint8_t fp8) {
  const std::uint32_t sign = static_cast<std::uint32_t>(fp8 & 0x80u) << 24;
  const std::uint32_t magnitude = fp8 & 0x7fu;
  if (magnitude == 0x7fu) return BitCast<float>(sign | 0x7fc00000u);
  if (magnitude < 8u) {
    const float value = static_cast<float>(magnitude) * 0x1p-9f;
    return BitCast<float>(sign | BitCast<std::uint32_t>(value));
  }
  return BitCast<float>(sign | ((magnitude << 20) + (static_cast<std::uint32_t>(127 - 7) << 23)));
}

}  // namespace kbench::reference
