// How much memory this process may still take: the machine's and its control group's word.
// Stateless; thread-safe.
#pragma once

#include <cstdint>
#include <string>

namespace kbench::engine {

struct HostMemory {
  std::int64_t free_bytes = 0;
  std::int64_t total_bytes = 0;
};

// The smaller of MemAvailable and what the control group (v2 or v1) leaves. `root` is "" except in
// tests, which lay out their own /proc and /sys below it.
HostMemory ReadHostMemory(const std::string& root = "");

}  // namespace kbench::engine
