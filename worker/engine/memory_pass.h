// One pass of several threads over host memory, as fast as the machine does it: the roofs of a CPU.
// Used from one thread.
#pragma once

#include <cstdint>

namespace kbench::engine {

enum class PassKind { kRead, kWideRead, kWrite, kStreamingWrite, kCopy, kStreamingCopy };

// Seconds from the common start to the end of the last thread. Reads or writes all of
// [data, data + bytes); a copy reads the first half and writes the second one. `bytes` is a
// multiple of 128 times the number of threads. A read finds memory that holds no byte of 0xFF.
double MemoryPassSeconds(PassKind kind, char* data, std::int64_t bytes, int threads);

}  // namespace kbench::engine
