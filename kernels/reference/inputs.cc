#include "kernels/reference/inputs.h"

#include <algorithm>

#include "kernels/reference/bulk.h"
#include "kernels/reference/parallel.h"
#include "kernels/reference/random.h"

namespace kbench::reference {
namespace {

// Elements made at a time: the words and the floats of one piece stay in the first cache.
constexpr std::int64_t kPiece = 2048;
// What one thread takes at a time.
constexpr std::int64_t kShare = std::int64_t{1} << 20;

void StoreFloats(DType storage, const float* values, std::int64_t count, void* to) {
  switch (storage) {
    case DType::kFp16:
      FloatsToHalves(values, static_cast<std::uint16_t*>(to), count);
      break;
    case DType::kBf16:
      for (std::int64_t i = 0; i < count; ++i) {
        static_cast<std::uint16_t*>(to)[i] = FloatToBf16Bits(values[i]);
      }
      break;
    case DType::kFp8E4M3:
      for (std::int64_t i = 0; i < count; ++i) {
        static_cast<std::uint8_t*>(to)[i] = FloatToFp8E4M3Bits(values[i]);
      }
      break;
    default:
      std::copy_n(values, count, static_cast<float*>(to));
  }
}

// Words of consecutive elements to stored elements.
void StoreWords(const OperandSpec& spec, const std::uint32_t* words, std::int64_t count, void* to) {
  if (spec.storage == DType::kFp64) {
    for (std::int64_t i = 0; i < count; ++i) {
      const double value = WordsToUniform(words[2 * i], words[2 * i + 1]);
      static_cast<double*>(to)[i] = spec.positive ? MakePositive(value) : value;
    }
    return;
  }
  if (spec.storage == DType::kInt8) {
    for (std::int64_t i = 0; i < count; ++i) {
      static_cast<std::int8_t*>(to)[i] = WordToInt8(words[i], spec.positive);
    }
    return;
  }
  float values[kPiece];
  for (std::int64_t i = 0; i < count; ++i) values[i] = WordToUniform(words[i]);
  if (spec.positive) {
    for (std::int64_t i = 0; i < count; ++i) values[i] = MakePositive(values[i]);
  }
  StoreFloats(spec.storage, values, count, to);
}

// [begin, end) on the calling thread.
void FillShare(const OperandSpec& spec, std::uint32_t operand, std::uint64_t seed, char* to,
               std::int64_t begin, std::int64_t end) {
  const std::int64_t per_block = spec.storage == DType::kFp64 ? 2 : 4;
  const std::int64_t bytes = static_cast<std::int64_t>(Info(spec.storage).storage_bytes);
  const std::int64_t words_each = 4 / per_block;
  std::uint32_t words[kPiece + 4];
  while (begin < end) {
    // A piece may begin in the middle of a block.
    const std::int64_t skip = begin % per_block;
    const std::int64_t count = std::min(end - begin, kPiece / words_each - skip);
    const std::int64_t blocks = (skip + count + per_block - 1) / per_block;
    PhiloxWords(seed, operand, static_cast<std::uint64_t>(begin / per_block),
                static_cast<int>(blocks), words);
    StoreWords(spec, words + skip * words_each, count, to);
    to += count * bytes;
    begin += count;
  }
}

}  // namespace

void FillInput(const OperandSpec& spec, int operand, std::uint64_t seed, void* destination,
               std::int64_t begin, std::int64_t count, int threads) {
  const std::int64_t bytes = static_cast<std::int64_t>(Info(spec.storage).storage_bytes);
  ParallelFor((count + kShare - 1) / kShare, threads, [&](std::int64_t share) {
    const std::int64_t from = share * kShare, to = std::min(count, from + kShare);
    FillShare(spec, static_cast<std::uint32_t>(operand), seed,
              static_cast<char*>(destination) + from * bytes, begin + from, begin + to);
  });
}

void InputValues(const OperandSpec& spec, int operand, std::uint64_t seed, std::int64_t begin,
                 std::int64_t count, double* values) {
  double stored[512];  // big enough for 512 elements of any type
  while (count > 0) {
    const std::int64_t part = std::min<std::int64_t>(count, 512);
    FillShare(spec, static_cast<std::uint32_t>(operand), seed, reinterpret_cast<char*>(stored),
              begin, begin + part);
    ToDoubles(spec.storage, stored, values, part);
    begin += part;
    values += part;
    count -= part;
  }
}

}  // namespace kbench::reference
