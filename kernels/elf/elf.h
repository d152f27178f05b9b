// The sections of an ELF file held in memory: of a program, and of a cubin, which is one too. Pure
// functions over bytes that may be anything; what they return points into them. Thread-safe.
#pragma once

#include <string_view>
#include <vector>

namespace kbench::elf {

struct Section {
  std::string_view name;
  std::string_view content;  // empty where the file holds none (.bss)
};

// In the file's order. Empty for what is no well-formed 64-bit little-endian ELF file.
std::vector<Section> ElfSections(std::string_view file);

}  // namespace kbench::elf
