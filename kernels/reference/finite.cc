#include <algorithm>
#include <atomic>
#include <limits>

#include "kernels/reference/bulk.h"
#include "kernels/reference/parallel.h"

namespace kbench::reference {
namespace {

constexpr std::int64_t kShare = std::int64_t{1} << 18;

// Not finite means that all exponent bits are set (E4M3: all bits but the sign).
template <typename Word>
std::int64_t First(const Word* words, std::int64_t count, Word mask) {
  constexpr std::int64_t kBlock = 4096;
  for (std::int64_t begin = 0; begin < count; begin += kBlock) {
    const std::int64_t end = std::min(count, begin + kBlock);
    Word found = 0;  // branch-free: vectorised
    for (std::int64_t i = begin; i < end; ++i) {
      found = static_cast<Word>(found | ((words[i] & mask) == mask ? 1 : 0));
    }
    for (std::int64_t i = begin; found != 0 && i < end; ++i) {
      if ((words[i] & mask) == mask) return i;
    }
  }
  return -1;
}

std::int64_t FirstIn(DType storage, const void* values, std::int64_t count) {
  switch (storage) {
    case DType::kFp64:
      return First(static_cast<const std::uint64_t*>(values), count,
                   std::uint64_t{0x7ff0000000000000});
    case DType::kFp16:
      return First(static_cast<const std::uint16_t*>(values), count, std::uint16_t{0x7c00});
    case DType::kBf16:
      return First(static_cast<const std::uint16_t*>(values), count, std::uint16_t{0x7f80});
    case DType::kFp8E4M3:
      return First(static_cast<const std::uint8_t*>(values), count, std::uint8_t{0x7f});
    case DType::kInt8:
    case DType::kInt32:
      return -1;
    default:
      return First(static_cast<const std::uint32_t*>(values), count, std::uint32_t{0x7f800000});
  }
}

}  // namespace

std::int64_t FirstNotFinite(DType storage, const void* values, std::int64_t count, int threads) {
  constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
  std::atomic<std::int64_t> first{kNone};
  ParallelFor((count + kShare - 1) / kShare, threads, [&](std::int64_t share) {
    const std::int64_t begin = share * kShare;
    if (first.load() < begin) return;
    const std::int64_t at =
        FirstIn(storage, ElementAt(storage, values, begin), std::min(kShare, count - begin));
    if (at < 0) return;
    std::int64_t known = first.load();
    while (begin + at < known && !first.compare_exchange_weak(known, begin + at)) {
    }
  });
  return first.load() == kNone ? -1 : first.load();
}

}  // namespace kbench::reference
