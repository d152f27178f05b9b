#include "kernels/reference/bulk.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "kernels/reference/convert.h"
#include "kernels/reference/parallel.h"
#include "kernels/reference/random.h"

namespace kbench::reference {
namespace {

TEST(PhiloxWords, AreThoseOfTheBlocks) {
  for (int count : {1, 3, 7, 8, 9, 16, 31, 100}) {
    for (std::uint64_t block : {std::uint64_t{0}, std::uint64_t{5}, (std::uint64_t{1} << 32) - 3,
                                std::uint64_t{1} << 40}) {
      std::vector<std::uint32_t> words(static_cast<std::size_t>(4 * count));
      PhiloxWords(0x123456789abcdef0, 7, block, count, words.data());
      for (int i = 0; i < 4 * count; ++i) {
        const std::uint64_t index = 4 * block + static_cast<unsigned>(i);
        ASSERT_EQ(words[static_cast<std::size_t>(i)], WordAt(0x123456789abcdef0, 7, index));
      }
    }
  }
}

TEST(Halves, InBulkAreThoseOneByOne) {
  std::vector<float> values;
  for (std::uint32_t i = 0; i < 40003; ++i) values.push_back(BitCast<float>(WordAt(3, 0, i)));
  std::vector<std::uint16_t> halves(values.size());
  FloatsToHalves(values.data(), halves.data(), static_cast<std::int64_t>(values.size()));
  std::vector<float> back(values.size());
  HalvesToFloats(halves.data(), back.data(), static_cast<std::int64_t>(values.size()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i])) {
      ASSERT_TRUE(std::isnan(back[i]));
    } else {
      ASSERT_EQ(halves[i], FloatToHalfBits(values[i])) << values[i];
      ASSERT_EQ(back[i], HalfBitsToFloat(halves[i]));
    }
  }
}

template <typename T>
void ReadsAs(DType dtype, const std::vector<T>& stored, const std::vector<double>& expected) {
  std::vector<double> values(stored.size());
  ToDoubles(dtype, stored.data(), values.data(), static_cast<std::int64_t>(stored.size()));
  EXPECT_EQ(values, expected) << Info(dtype).name;
}

TEST(ToDoubles, ReadsEveryType) {
  ReadsAs<double>(DType::kFp64, {1, -2.5}, {1, -2.5});
  ReadsAs<float>(DType::kFp32, {1, -2.5f}, {1, -2.5});
  ReadsAs<std::uint16_t>(DType::kFp16, {0x3c00, 0xc100, 0x0001, 0x3c00, 0x4000},
                         {1, -2.5, 0x1p-24, 1, 2});
  ReadsAs<std::uint16_t>(DType::kBf16, {0x3f80, 0xc020}, {1, -2.5});
  ReadsAs<std::uint8_t>(DType::kFp8E4M3, {0x38, 0xc2}, {1, -2.5});
  ReadsAs<std::int8_t>(DType::kInt8, {1, -8}, {1, -8});
}

template <typename T>
void FindsTheFirst(DType dtype, T good, T nan, T inf) {
  std::vector<T> values(1000003, good);
  const auto count = static_cast<std::int64_t>(values.size());
  EXPECT_EQ(FirstNotFinite(dtype, values.data(), count, 2), -1) << Info(dtype).name;
  values.back() = nan;
  EXPECT_EQ(FirstNotFinite(dtype, values.data(), count, 2), count - 1) << Info(dtype).name;
  values[600000] = inf;
  values[600007] = nan;
  EXPECT_EQ(FirstNotFinite(dtype, values.data(), count, 3), 600000) << Info(dtype).name;
}

TEST(FirstNotFinite, IsFoundInEveryType) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  FindsTheFirst<double>(DType::kFp64, 1.79e308, std::nan(""), -kInf);
  FindsTheFirst<float>(DType::kFp32, 3.4e38f, std::nanf(""), static_cast<float>(-kInf));
  FindsTheFirst<std::uint16_t>(DType::kFp16, 0xfbff, 0x7c01, 0xfc00);
  FindsTheFirst<std::uint16_t>(DType::kBf16, 0xff7f, 0x7fc0, 0xff80);
  FindsTheFirst<std::uint8_t>(DType::kFp8E4M3, 0xfe, 0x7f, 0xff);
  const std::vector<std::int8_t> integers(100, -1);
  EXPECT_EQ(FirstNotFinite(DType::kInt8, integers.data(), 100, 1), -1);
}

TEST(ParallelFor, DoesEveryPieceOnce) {
  for (int threads : {0, 1, 2, 5}) {
    std::vector<std::atomic<int>> done(1000);
    ParallelFor(1000, threads, [&](std::int64_t i) { ++done[static_cast<std::size_t>(i)]; });
    for (const auto& count : done) ASSERT_EQ(count.load(), 1);
  }
  ParallelFor(0, 4, [](std::int64_t) { FAIL(); });
}

TEST(ParallelFor, PassesAnExceptionOn) {
  EXPECT_THROW(ParallelFor(100, 3,
                           [](std::int64_t i) {
                             if (i == 50) throw std::runtime_error("no");
                           }),
               std::runtime_error);
}

}  // namespace
}  // namespace kbench::reference
