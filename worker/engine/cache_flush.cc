#include "worker/engine/cache_flush.h"

#include <cpuid.h>
#include <immintrin.h>
#include <unistd.h>

namespace kbench::engine {
namespace {

constexpr std::uintptr_t kLine = 64;

bool HasClflushopt() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  return (b & (1u << 23)) != 0;
}

__attribute__((target("clflushopt"))) void EvictUnordered(char* line, char* end) {
  for (; line < end; line += kLine) _mm_clflushopt(line);
}

void EvictOrdered(char* line, char* end) {
  for (; line < end; line += kLine) _mm_clflush(line);
}

bool UseClflushopt() {
  static const bool use = HasClflushopt();
  return use;
}

}  // namespace

void EvictLines(const void* data, std::int64_t bytes) {
  if (bytes <= 0) return;
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  char* line = reinterpret_cast<char*>(address & ~(kLine - 1));
  char* end = reinterpret_cast<char*>(address + static_cast<std::uintptr_t>(bytes));
  _mm_mfence();  // clflushopt is not ordered after earlier stores to other lines
  if (UseClflushopt()) {
    EvictUnordered(line, end);
  } else {
    EvictOrdered(line, end);
  }
  _mm_mfence();
}

const char* EvictionInstruction() { return UseClflushopt() ? "clflushopt" : "clflush"; }

std::int64_t PrivateCacheBytes() {
  const long l1 = sysconf(_SC_LEVEL1_DCACHE_SIZE);
  const long l2 = sysconf(_SC_LEVEL2_CACHE_SIZE);
  const std::int64_t total = (l1 > 0 ? l1 : 0) + (l2 > 0 ? l2 : 0);
  return total > 0 ? total : (1 << 20);
}

}  // namespace kbench::engine
