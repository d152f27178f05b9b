// Eviction of given memory from every cache of the machine, line by line (clflushopt, or clflush
// where the CPU lacks it): a flush costs time in proportion to the operands, never a sweep of a
// last-level cache that other people use too. Stateless; thread-safe.
#pragma once

#include <cstdint>

namespace kbench::engine {

// Writes back and invalidates every line of [data, data + bytes) in all cores' caches; complete on
// return.
void EvictLines(const void* data, std::int64_t bytes);

// "clflushopt", "clflush".
const char* EvictionInstruction();

// Bytes of L1d and L2 of one core, as the system tells (1 MiB where it does not).
std::int64_t PrivateCacheBytes();

}  // namespace kbench::engine
