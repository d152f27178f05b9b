// What nvcc leaves in a program: the section .nv_fatbin holds a container for each translation
// unit, a container holds an entry for each architecture, as PTX or as a cubin. The layout is
// nowhere documented; it is as CUDA 12 and 13 write it, and what does not look so is refused. Pure
// functions over bytes that may be anything; what they return points into them. Thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kbench::fatbin {

enum class Kind { kPtx, kCubin };

struct Entry {
  Kind kind = Kind::kCubin;
  int capability = 0;      // 90
  std::string suffix;      // "a": of this architecture alone; "f": of its family; else empty
  std::string_view bytes;  // the text without the padding behind it, or the ELF file

  std::string Architecture() const { return "sm_" + std::to_string(capability) + suffix; }
};

struct Contents {
  std::vector<Entry> entries;
  int compressed = 0;   // entries that cannot be read: nvcc ran without --no-compress
  std::string problem;  // where reading ended because it looks like nothing we know; else empty
};

// `section`: the content of .nv_fatbin.
Contents ReadFatbin(std::string_view section);

// Whether the entry holds the device function (its mangled name).
bool Holds(const Entry& entry, std::string_view function);

// Of the entries that hold the function, the cubin and the PTX that a device of this compute
// capability runs, or would compile: the nearest one from below. Null where there is none.
struct Choice {
  const Entry* cubin = nullptr;
  const Entry* ptx = nullptr;
};
Choice Choose(const std::vector<Entry>& entries, std::string_view function, int capability);

}  // namespace kbench::fatbin
