// A file without a place on any disk, for what reads its input by name. One thread.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "tests/fuzz/check.h"

namespace kbench::fuzz {

// The path of a file with this text; the same one each time, so the text before it is gone.
inline const char* FileOf(const std::string& text) {
  static const int fd = memfd_create("text", 0);
  static const std::string path = "/proc/self/fd/" + std::to_string(fd);
  KB_FUZZ_CHECK(fd >= 0 && ftruncate(fd, 0) == 0);
  KB_FUZZ_CHECK(pwrite(fd, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()));
  return path.c_str();
}

}  // namespace kbench::fuzz
