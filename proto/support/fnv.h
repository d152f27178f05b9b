// A hash that every process and version computes alike (FNV-1a, 64 bits, Fowler, Noll and Vo). It
// tells things apart that nobody forges; it protects nothing.
#pragma once

#include <cstdint>
#include <string_view>

namespace kbench {

inline constexpr std::uint64_t kFnvBegin = 14695981039346656037u;

// Goes on from `hash`.
inline std::uint64_t Fnv1a(std::string_view text, std::uint64_t hash = kFnvBegin) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash;
}

}  // namespace kbench
