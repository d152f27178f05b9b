// How the CPU kernels see one element of a dtype: how it lies in memory, what it computes in, and
// the two conversions between. Pure functions; thread-safe.
#pragma once

#include <bit>
#include <cstdint>
#include <utility>

#include "kernels/catalog/dtype.h"

namespace kbench {

// IEEE binary16 <-> binary32, round to nearest even; NaN stays NaN, overflow becomes infinity.
inline float HalfBitsToFloat(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1fu;
  const std::uint32_t mantissa = bits & 0x3ffu;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
  if (exponent != 0)
    return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
  // Zero and subnormals: mantissa * 2^-24 is exact in fp32.
  const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
}

inline std::uint16_t FloatToHalfBits(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint16_t sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<std::uint16_t>(sign | 0x7e00u);
  if (magnitude >= 0x477ff000u) return static_cast<std::uint16_t>(sign | 0x7c00u);  // >= 65520
  if (magnitude < 0x38800000u) {
    // Below 2^-14: adding 0.5 lets the hardware round at the unit of a half subnormal, 2^-24.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u));
  }
  const std::uint32_t odd = (magnitude >> 13) & 1u;
  return static_cast<std::uint16_t>(sign | ((magnitude - 0x38000000u + 0xfffu + odd) >> 13));
}

inline float BfloatBitsToFloat(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

inline std::uint16_t FloatToBfloatBits(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>((bits >> 16) | 0x40u);
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

// OCP E4M3: no infinities, NaN is all ones.
inline float Fp8E4M3BitsToFloat(std::uint8_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x80u) << 24;
  const std::uint32_t exponent = (bits >> 3) & 0xfu;
  const std::uint32_t mantissa = bits & 7u;
  if ((bits & 0x7fu) == 0x7fu) return std::bit_cast<float>(sign | 0x7fc00000u);
  if (exponent != 0)
    return std::bit_cast<float>(sign | ((exponent + 120) << 23) | (mantissa << 20));
  const float magnitude = static_cast<float>(mantissa) * 0x1p-9f;  // zero and subnormals
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
}

// An fp32 value rounded to TF32's 10 mantissa bits, ties away from zero, as cvt.rna.tf32 does.
inline float RoundToTf32(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7f800000u) == 0x7f800000u) return value;
  return std::bit_cast<float>((bits + 0x1000u) & 0xffffe000u);
}

// Load gives an operand of a product; Operand makes one of a computed value; Store rounds a result
// to how it lies in memory.
template <DType D>
struct Element;

template <>
struct Element<DType::kFp64> {
  using Storage = double;
  using Compute = double;
  static double Load(double x) { return x; }
  static double Operand(double x) { return x; }
  static double Store(double x) { return x; }
};

template <>
struct Element<DType::kFp32> {
  using Storage = float;
  using Compute = float;
  static float Load(float x) { return x; }
  static float Operand(float x) { return x; }
  static float Store(float x) { return x; }
};

template <>
struct Element<DType::kTf32> {
  using Storage = float;
  using Compute = float;
  static float Load(float x) { return RoundToTf32(x); }
  static float Operand(float x) { return RoundToTf32(x); }
  static float Store(float x) { return x; }
};

template <>
struct Element<DType::kFp16> {
  using Storage = std::uint16_t;
  using Compute = float;
  static float Load(std::uint16_t x) { return HalfBitsToFloat(x); }
  static float Operand(float x) { return x; }
  static std::uint16_t Store(float x) { return FloatToHalfBits(x); }
};

template <>
struct Element<DType::kBf16> {
  using Storage = std::uint16_t;
  using Compute = float;
  static float Load(std::uint16_t x) { return BfloatBitsToFloat(x); }
  static float Operand(float x) { return x; }
  static std::uint16_t Store(float x) { return FloatToBfloatBits(x); }
};

// These two are dtypes of products alone, whose result is stored wider.
template <>
struct Element<DType::kFp8E4M3> {
  using Storage = std::uint8_t;
  using Compute = float;
  static float Load(std::uint8_t x) { return Fp8E4M3BitsToFloat(x); }
  static std::uint16_t Store(float x) { return FloatToBfloatBits(x); }
};

template <>
struct Element<DType::kInt8> {
  using Storage = std::int8_t;
  using Compute = std::int32_t;
  static std::int32_t Load(std::int8_t x) { return x; }
  static std::int32_t Store(std::int32_t x) { return x; }
};

// Calls visitor(Element<d>{}) and returns true; false for a dtype that products alone compute in.
template <typename Visitor>
bool VisitElement(DType dtype, Visitor&& visitor) {
  switch (dtype) {
    case DType::kFp64:
      return std::forward<Visitor>(visitor)(Element<DType::kFp64>{}), true;
    case DType::kFp32:
      return std::forward<Visitor>(visitor)(Element<DType::kFp32>{}), true;
    case DType::kTf32:
      return std::forward<Visitor>(visitor)(Element<DType::kTf32>{}), true;
    case DType::kFp16:
      return std::forward<Visitor>(visitor)(Element<DType::kFp16>{}), true;
    case DType::kBf16:
      return std::forward<Visitor>(visitor)(Element<DType::kBf16>{}), true;
    case DType::kFp8E4M3:
    case DType::kInt8:
    case DType::kInt32:
      return false;
  }
  return false;
}

}  // namespace kbench
