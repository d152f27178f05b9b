// A 64-bit digest of a buffer: the sum of a mixed value for each 8-byte word, so that it may be
// computed in any order by any number of threads, on a CPU and on a GPU alike. Stateless;
// thread-safe.
#pragma once

#include <cstdint>
#include <cstring>

#ifdef __CUDACC__
#define KB_DIGEST_HD __host__ __device__
#else
#define KB_DIGEST_HD
#endif

namespace kbench::engine {

// The finalizer of splitmix64 over the word and its place.
KB_DIGEST_HD inline std::uint64_t MixWord(std::uint64_t word, std::uint64_t index) {
  std::uint64_t z = word ^ ((index + 1) * 0x9e3779b97f4a7c15ull);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

// Word `index` of the buffer; bytes past its end count as zeros.
KB_DIGEST_HD inline std::uint64_t LoadWord(const unsigned char* data, std::int64_t bytes,
                                           std::int64_t index) {
  std::uint64_t word = 0;
  const std::int64_t begin = index * 8;
  const std::int64_t count = bytes - begin < 8 ? bytes - begin : 8;
  for (std::int64_t i = 0; i < count; ++i) {
    word |= static_cast<std::uint64_t>(data[begin + i]) << (8 * i);
  }
  return word;
}

inline std::uint64_t HostDigest(const void* data, std::int64_t bytes) {
  const auto* from = static_cast<const unsigned char*>(data);
  std::uint64_t sum = static_cast<std::uint64_t>(bytes);
  const std::int64_t whole = bytes / 8;
  for (std::int64_t i = 0; i < whole; ++i) {
    std::uint64_t word;
    std::memcpy(&word, from + 8 * i, sizeof(word));
    sum += MixWord(word, static_cast<std::uint64_t>(i));
  }
  if (bytes % 8 != 0) {
    sum += MixWord(LoadWord(from, bytes, whole), static_cast<std::uint64_t>(whole));
  }
  return sum;
}

}  // namespace kbench::engine
