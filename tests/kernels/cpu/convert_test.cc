// Conversions: by neighbours and midpoints rather than by the same formula, and vector against
// scalar.
#include "kernels/cpu/convert.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kernels/cpu/element.h"

namespace kbench {
namespace {

float Above(float x) { return std::nextafter(x, std::numeric_limits<float>::infinity()); }
float Below(float x) { return std::nextafter(x, -std::numeric_limits<float>::infinity()); }

struct HalfType {
  const char* name;
  DType dtype;
  float (*widen)(std::uint16_t);
  std::uint16_t (*narrow)(float);
  std::uint16_t largest;
};

class HalfTypes : public ::testing::TestWithParam<HalfType> {};

TEST_P(HalfTypes, EveryFiniteValueSurvivesTheRoundTrip) {
  const HalfType& type = GetParam();
  for (unsigned bits = 0; bits <= type.largest; ++bits) {
    for (unsigned sign : {0u, 0x8000u}) {
      const auto half = static_cast<std::uint16_t>(bits | sign);
      ASSERT_EQ(type.narrow(type.widen(half)), half) << std::hex << half;
    }
  }
}

TEST_P(HalfTypes, MidpointsGoToTheEvenNeighbourAndTheRestToTheNearest) {
  const HalfType& type = GetParam();
  for (unsigned bits = 0; bits < type.largest; ++bits) {
    const auto low = static_cast<std::uint16_t>(bits), high = static_cast<std::uint16_t>(bits + 1);
    const float middle =
        static_cast<float>((static_cast<double>(type.widen(low)) + type.widen(high)) / 2);
    ASSERT_EQ(type.narrow(middle), bits % 2 == 0 ? low : high) << std::hex << bits;
    ASSERT_EQ(type.narrow(Below(middle)), low) << std::hex << bits;
    ASSERT_EQ(type.narrow(Above(middle)), high) << std::hex << bits;
    ASSERT_EQ(type.narrow(-middle), (bits % 2 == 0 ? low : high) | 0x8000u);
  }
}

TEST_P(HalfTypes, InfinityAndNanStayWhatTheyAre) {
  const HalfType& type = GetParam();
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(type.widen(type.narrow(infinity)), infinity);
  EXPECT_EQ(type.widen(type.narrow(-infinity)), -infinity);
  EXPECT_EQ(type.widen(type.narrow(std::numeric_limits<float>::max())), infinity);
  EXPECT_TRUE(std::isnan(type.widen(type.narrow(std::nanf("")))));
}

TEST_P(HalfTypes, ArraysConvertLikeTheirElements) {
  const HalfType& type = GetParam();
  std::mt19937 random(7);
  // Long enough for several threads, odd so that every vector loop has a rest.
  std::vector<float> from(100003);
  for (float& value : from) {
    const int exponent = static_cast<int>(random() % 60) - 30;
    value = std::ldexp(static_cast<float>(static_cast<std::int32_t>(random())), exponent - 31);
  }
  for (int threads : {1, 3}) {
    for (std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{15}, from.size()}) {
      std::vector<std::uint16_t> narrow(n + 1, 0xa5a5);
      ConvertFromFp32(type.dtype, from.data(), narrow.data(), static_cast<std::int64_t>(n),
                      threads);
      std::vector<float> wide(n + 1, -1.5f);
      ConvertToFp32(type.dtype, narrow.data(), wide.data(), static_cast<std::int64_t>(n), threads);
      for (std::size_t i = 0; i < n; ++i) {
        ASSERT_EQ(narrow[i], type.narrow(from[i])) << from[i];
        ASSERT_EQ(wide[i], type.widen(narrow[i])) << from[i];
      }
      EXPECT_EQ(narrow[n], 0xa5a5) << "written past the end";
      EXPECT_EQ(wide[n], -1.5f) << "written past the end";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, HalfTypes,
    ::testing::Values(HalfType{"fp16", DType::kFp16, HalfBitsToFloat, FloatToHalfBits, 0x7bff},
                      HalfType{"bf16", DType::kBf16, BfloatBitsToFloat, FloatToBfloatBits, 0x7f7f}),
    [](const auto& info) { return info.param.name; });

TEST(Tf32, RoundsToTenBitsTiesAwayFromZero) {
  EXPECT_EQ(RoundToTf32(1 + 0x1p-10f), 1 + 0x1p-10f);
  EXPECT_EQ(RoundToTf32(1 + 0x1p-11f), 1 + 0x1p-10f);
  EXPECT_EQ(RoundToTf32(-1 - 0x1p-11f), -1 - 0x1p-10f);
  EXPECT_EQ(RoundToTf32(Below(1 + 0x1p-11f)), 1.0f);
  EXPECT_EQ(RoundToTf32(2 - 0x1p-12f), 2.0f);
  EXPECT_EQ(RoundToTf32(0.0f), 0.0f);
  EXPECT_TRUE(std::isnan(RoundToTf32(std::nanf(""))));
  EXPECT_TRUE(std::isinf(RoundToTf32(std::numeric_limits<float>::infinity())));
}

}  // namespace
}  // namespace kbench
