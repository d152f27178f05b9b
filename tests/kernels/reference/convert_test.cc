#include "kernels/reference/convert.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace kbench::reference {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

// What the bits of a small float type stand for, from its definition.
double Decode(unsigned bits, int exponent_bits, int mantissa_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const unsigned mantissa = bits & ((1u << mantissa_bits) - 1);
  const int exponent = static_cast<int>(bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const double sign = (bits >> (exponent_bits + mantissa_bits)) & 1 ? -1 : 1;
  const double fraction = std::ldexp(static_cast<double>(mantissa), -mantissa_bits);
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias);
  return sign * std::ldexp(1 + fraction, exponent - bias);
}

TEST(Half, EveryPatternIsReadAndWrittenBack) {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = HalfBitsToFloat(half);
    if ((bits & 0x7c00) == 0x7c00) {
      EXPECT_EQ(std::isnan(value), (bits & 0x3ff) != 0) << bits;
      EXPECT_EQ(std::isinf(value), (bits & 0x3ff) == 0) << bits;
      EXPECT_EQ(std::isnan(HalfBitsToFloat(FloatToHalfBits(value))), std::isnan(value)) << bits;
    } else {
      ASSERT_EQ(value, Decode(bits, 5, 10)) << bits;
      ASSERT_EQ(FloatToHalfBits(value), half) << bits;
    }
  }
}

// Between two neighbours: below the middle down, above it up, in the middle to the even one.
template <typename Bits, typename ToBits, typename ToFloat>
void RoundsToNearestEven(unsigned last, ToBits to_bits, ToFloat to_float) {
  for (unsigned bits = 0; bits < last; ++bits) {
    const auto low = static_cast<Bits>(bits), high = static_cast<Bits>(bits + 1);
    const float middle = (to_float(low) + to_float(high)) / 2;
    ASSERT_EQ(to_bits(middle), bits % 2 == 0 ? low : high) << bits;
    ASSERT_EQ(to_bits(std::nextafter(middle, -kInf)), low) << bits;
    ASSERT_EQ(to_bits(std::nextafter(middle, kInf)), high) << bits;
    const auto sign = static_cast<Bits>(1u << (8 * sizeof(Bits) - 1));
    ASSERT_EQ(to_bits(std::nextafter(-middle, -kInf)), static_cast<Bits>(high | sign)) << bits;
  }
}

TEST(Half, RoundsToNearestEven) {
  RoundsToNearestEven<std::uint16_t>(0x7bff, FloatToHalfBits, HalfBitsToFloat);
  EXPECT_EQ(FloatToHalfBits(65519.996f), 0x7bff);
  EXPECT_EQ(FloatToHalfBits(65520.0f), 0x7c00);
  EXPECT_EQ(FloatToHalfBits(kInf), 0x7c00);
  EXPECT_EQ(FloatToHalfBits(-kInf), 0xfc00);
  EXPECT_EQ(FloatToHalfBits(-0.0f), 0x8000);
  EXPECT_EQ(FloatToHalfBits(1e-30f), 0);
  EXPECT_EQ(FloatToHalfBits(1.0f), 0x3c00);
}

TEST(Bf16, RoundsToNearestEven) {
  // Without the subnormal numbers and the largest, whose middles need more than a float.
  for (unsigned bits = 0x80; bits < 0x7f7f; ++bits) {
    const auto low = static_cast<std::uint16_t>(bits);
    const std::uint32_t middle = (static_cast<std::uint32_t>(bits) << 16) | 0x8000u;
    ASSERT_EQ(FloatToBf16Bits(Bf16BitsToFloat(low)), low);
    ASSERT_EQ(FloatToBf16Bits(BitCast<float>(middle - 1)), low);
    ASSERT_EQ(FloatToBf16Bits(BitCast<float>(middle)), bits % 2 == 0 ? low : low + 1);
    ASSERT_EQ(FloatToBf16Bits(BitCast<float>(middle + 1)), low + 1);
  }
  EXPECT_EQ(FloatToBf16Bits(kInf), 0x7f80);
  EXPECT_TRUE(std::isnan(Bf16BitsToFloat(FloatToBf16Bits(std::nanf("")))));
  // A NaN whose payload lies in the low bits only must not become infinity.
  EXPECT_TRUE(std::isnan(Bf16BitsToFloat(FloatToBf16Bits(BitCast<float>(0x7f800001u)))));
  EXPECT_EQ(FloatToBf16Bits(1.0f), 0x3f80);
}

TEST(Fp8, EveryPatternIsReadAndWrittenBack) {
  for (unsigned bits = 0; bits < 0x100; ++bits) {
    const auto fp8 = static_cast<std::uint8_t>(bits);
    const float value = Fp8E4M3BitsToFloat(fp8);
    if ((bits & 0x7f) == 0x7f) {
      EXPECT_TRUE(std::isnan(value)) << bits;
    } else {
      ASSERT_EQ(value, Decode(bits, 4, 3)) << bits;
      ASSERT_EQ(FloatToFp8E4M3Bits(value), fp8) << bits;
    }
  }
  RoundsToNearestEven<std::uint8_t>(0x7e, FloatToFp8E4M3Bits, Fp8E4M3BitsToFloat);
  EXPECT_EQ(FloatToFp8E4M3Bits(1e9f), 0x7e);
  EXPECT_EQ(FloatToFp8E4M3Bits(-kInf), 0xfe);
  EXPECT_EQ(FloatToFp8E4M3Bits(std::nanf("")) & 0x7f, 0x7f);
}

}  // namespace
}  // namespace kbench::reference
