// Inputs by index: Philox4x32-10 (Salmon et al., SC 2011), counter based, so that any element of
// any operand can be made anywhere, on host or device, without those before it. Pure functions; the
// same bits everywhere.
#pragma once

#include <cstdint>

#include "kernels/catalog/dtype.h"
#include "kernels/reference/convert.h"

namespace kbench::reference {

struct PhiloxBlock {
  std::uint32_t word[4];
};

inline constexpr std::uint32_t kPhiloxM0 = 0xD2511F53u, kPhiloxM1 = 0xCD9E8D57u;
inline constexpr std::uint32_t kPhiloxW0 = 0x9E3779B9u, kPhiloxW1 = 0xBB67AE85u;

KB_HD inline PhiloxBlock Philox(PhiloxBlock counter, std::uint32_t key0, std::uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = static_cast<std::uint64_t>(kPhiloxM0) * counter.word[0];
    const std::uint64_t product1 = static_cast<std::uint64_t>(kPhiloxM1) * counter.word[2];
    counter = {{static_cast<std::uint32_t>(product1 >> 32) ^ counter.word[1] ^ key0,
                static_cast<std::uint32_t>(product1),
                static_cast<std::uint32_t>(product0 >> 32) ^ counter.word[3] ^ key1,
                static_cast<std::uint32_t>(product0)}};
    key0 += kPhiloxW0;
    key1 += kPhiloxW1;
  }
  return counter;
}

// The block of four words with this number in the stream of (seed, operand).
KB_HD inline PhiloxBlock BlockAt(std::uint64_t seed, std::uint32_t operand, std::uint64_t block) {
  return Philox(
      {{static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32), operand, 0u}},
      static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32));
}

KB_HD inline std::uint32_t WordAt(std::uint64_t seed, std::uint32_t operand, std::uint64_t index) {
  return BlockAt(seed, operand, index / 4).word[index % 4];
}

// [-1, 1) in steps of 2^-23: exact in a float.
KB_HD inline float WordToUniform(std::uint32_t word) {
  return static_cast<float>(static_cast<std::int32_t>(word) >> 8) * 0x1p-23f;
}

// [-1, 1) in steps of 2^-52.
KB_HD inline double WordsToUniform(std::uint32_t low, std::uint32_t high) {
  const std::uint64_t word = static_cast<std::uint64_t>(high) << 32 | low;
  return static_cast<double>(static_cast<std::int64_t>(word) >> 11) * 0x1p-52;
}

KB_HD inline float UniformAt(std::uint64_t seed, std::uint32_t operand, std::uint64_t index) {
  return WordToUniform(WordAt(seed, operand, index));
}

// For fp64: two words an element.
KB_HD inline double Uniform64At(std::uint64_t seed, std::uint32_t operand, std::uint64_t index) {
  const PhiloxBlock block = BlockAt(seed, operand, index / 2);
  const unsigned at = static_cast<unsigned>(index % 2) * 2;
  return WordsToUniform(block.word[at], block.word[at + 1]);
}

// [-8, 8], or [0, 8] where inputs are positive.
KB_HD inline std::int8_t WordToInt8(std::uint32_t word, bool positive) {
  const std::uint64_t range = positive ? 9 : 17;
  const int value = static_cast<int>(word * range >> 32);
  return static_cast<std::int8_t>(positive ? value : value - 8);
}

// [-1, 1) to [0, 1), exactly.
template <typename T>
KB_HD inline T MakePositive(T uniform) {
  return uniform * T(0.5) + T(0.5);
}

// Writes element `index` of an input where it belongs: `base` is the operand's first element.
KB_HD inline void StoreInputAt(DType storage, bool positive, std::uint64_t seed,
                               std::uint32_t operand, std::uint64_t index, void* base) {
  if (storage == DType::kFp64) {
    const double value = Uniform64At(seed, operand, index);
    static_cast<double*>(base)[index] = positive ? MakePositive(value) : value;
    return;
  }
  const std::uint32_t word = WordAt(seed, operand, index);
  if (storage == DType::kInt8) {
    static_cast<std::int8_t*>(base)[index] = WordToInt8(word, positive);
    return;
  }
  const float uniform = WordToUniform(word);
  const float value = positive ? MakePositive(uniform) : uniform;
  switch (storage) {
    case DType::kFp16:
      static_cast<std::uint16_t*>(base)[index] = FloatToHalfBits(value);
      break;
    case DType::kBf16:
      static_cast<std::uint16_t*>(base)[index] = FloatToBf16Bits(value);
      break;
    case DType::kFp8E4M3:
      static_cast<std::uint8_t*>(base)[index] = FloatToFp8E4M3Bits(value);
      break;
    default:
      static_cast<float*>(base)[index] = value;
  }
}

}  // namespace kbench::reference
