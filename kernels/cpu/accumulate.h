// Summation whose rounding error does not grow with the length: blocks are added in order, block
// sums pairwise. The order is fixed, so results repeat bit for bit. Pure; thread-safe.
#pragma once

#include <cstdint>

namespace kbench {

// The sum of term(i) for i in [begin, end).
template <typename Compute, typename Term>
Compute PairwiseSum(std::int64_t begin, std::int64_t end, const Term& term) {
  constexpr std::int64_t kBlock = 256;
  if (end - begin <= kBlock) {
    Compute sum = 0;
    for (std::int64_t i = begin; i < end; ++i) sum += term(i);
    return sum;
  }
  const std::int64_t middle = begin + (end - begin) / 2;
  return PairwiseSum<Compute>(begin, middle, term) + PairwiseSum<Compute>(middle, end, term);
}

}  // namespace kbench
