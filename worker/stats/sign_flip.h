// The sign-flip permutation test of paired differences. Pure; thread-safe.
#pragma once

#include <cstdint>
#include <span>

namespace kbench::stats {

// Two-sided p of "the differences are symmetric about 0" with their sum as the statistic: the share
// of all sign patterns whose sum is at least as far from 0. Exact up to 16 differences, else
// (1 + hits) / (1 + 20,000) over patterns drawn from `seed`. 1 without differences.
double SignFlip(std::span<const double> differences, std::uint64_t seed);

}  // namespace kbench::stats
