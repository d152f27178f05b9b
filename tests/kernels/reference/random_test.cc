#include "kernels/reference/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace kbench::reference {
namespace {

// The known answers of Random123's kat_vectors for philox4x32-10.
TEST(Philox, GivesTheKnownAnswers) {
  const struct {
    PhiloxBlock counter;
    std::uint32_t key0, key1;
    PhiloxBlock answer;
  } cases[] = {
      {{{0, 0, 0, 0}}, 0, 0, {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}}},
      {{{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}},
       0xffffffff,
       0xffffffff,
       {{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}}},
      {{{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}},
       0xa4093822,
       0x299f31d0,
       {{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}},
  };
  for (const auto& c : cases) {
    const PhiloxBlock made = Philox(c.counter, c.key0, c.key1);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(made.word[i], c.answer.word[i]) << i;
  }
  EXPECT_EQ(WordAt(0, 0, 1), 0xe169c58du);
}

TEST(Uniform, CoversTheRangeEvenly) {
  constexpr int kCount = 100000;
  double sum = 0, squares = 0, sum64 = 0;
  float smallest = 1, largest = -1;
  for (int i = 0; i < kCount; ++i) {
    const float value = UniformAt(1, 0, static_cast<std::uint64_t>(i));
    ASSERT_GE(value, -1);
    ASSERT_LT(value, 1);
    ASSERT_GE(MakePositive(value), 0);
    ASSERT_LT(MakePositive(value), 1);
    smallest = std::min(smallest, value);
    largest = std::max(largest, value);
    sum += value;
    squares += static_cast<double>(value) * value;
    sum64 += Uniform64At(1, 0, static_cast<std::uint64_t>(i));
  }
  EXPECT_NEAR(sum / kCount, 0, 0.01);
  EXPECT_NEAR(sum64 / kCount, 0, 0.01);
  EXPECT_NEAR(squares / kCount, 1.0 / 3, 0.01);
  EXPECT_LT(smallest, -0.999f);
  EXPECT_GT(largest, 0.999f);
  EXPECT_EQ(WordToUniform(0x80000000u), -1.0f);
  EXPECT_EQ(WordToUniform(0x7fffffffu), 1 - 0x1p-23f);
  EXPECT_EQ(WordsToUniform(0, 0x80000000u), -1.0);
}

TEST(Uniform, DependsOnSeedOperandAndEveryBitOfTheIndex) {
  std::set<std::uint32_t> words;
  int made = 0;
  for (std::uint64_t seed : {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{1} << 40}) {
    for (std::uint32_t operand : {0u, 1u, 2u}) {
      for (int bit = 0; bit < 50; ++bit) {
        words.insert(WordAt(seed, operand, std::uint64_t{1} << bit));
        ++made;
      }
    }
  }
  EXPECT_EQ(static_cast<int>(words.size()), made);
}

TEST(Int8, CoversItsRange) {
  std::set<int> all, positive;
  for (std::uint32_t i = 0; i < 4096; ++i) {
    all.insert(WordToInt8(WordAt(1, 0, i), false));
    positive.insert(WordToInt8(WordAt(1, 0, i), true));
  }
  EXPECT_EQ(*all.begin(), -8);
  EXPECT_EQ(*all.rbegin(), 8);
  EXPECT_EQ(all.size(), 17u);
  EXPECT_EQ(*positive.begin(), 0);
  EXPECT_EQ(positive.size(), 9u);
}

}  // namespace
}  // namespace kbench::reference
