// Keeps a folder within a number of bytes: what was used the longest ago goes. Thread-safe as far
// as the file system is; not while others write there.
#pragma once

#include <cstdint>
#include <string>

namespace kbench {

// Each file and each folder directly in `dir` stays or goes as a whole; it was used when the newest
// file in it was written. Returns the bytes that are left; 0 where there is no such folder.
std::int64_t CapFolder(const std::string& dir, std::int64_t most_bytes);

// Of a file, or of all files in a folder; links count nothing, nor does what is not there.
std::int64_t BytesIn(const std::string& path);

}  // namespace kbench
