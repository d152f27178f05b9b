#include "kernels/elf/elf.h"

#include <elf.h>

#include <cstdint>
#include <cstring>

namespace kbench::elf {
namespace {

// `size` bytes from `offset`, or nothing where they do not all lie inside.
std::string_view Part(std::string_view all, std::uint64_t offset, std::uint64_t size) {
  if (offset > all.size() || size > all.size() - offset) return {};
  return all.substr(offset, size);
}

std::string_view StringAt(std::string_view table, std::uint64_t offset) {
  if (offset >= table.size()) return {};
  const std::string_view rest = table.substr(offset);
  return rest.substr(0, rest.find('\0'));
}

}  // namespace

std::vector<Section> ElfSections(std::string_view file) {
  Elf64_Ehdr header;
  if (file.size() < sizeof(header)) return {};
  std::memcpy(&header, file.data(), sizeof(header));
  const bool readable =
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
      header.e_ident[EI_DATA] == ELFDATA2LSB && header.e_shentsize == sizeof(Elf64_Shdr);
  if (!readable) return {};
  const std::string_view table =
      Part(file, header.e_shoff, std::uint64_t{header.e_shnum} * sizeof(Elf64_Shdr));
  std::vector<Elf64_Shdr> headers(table.size() / sizeof(Elf64_Shdr));
  if (header.e_shstrndx >= headers.size()) return {};
  std::memcpy(headers.data(), table.data(), headers.size() * sizeof(Elf64_Shdr));
  const Elf64_Shdr& names_header = headers[header.e_shstrndx];
  const std::string_view names = Part(file, names_header.sh_offset, names_header.sh_size);
  std::vector<Section> sections;
  for (const Elf64_Shdr& one : headers) {
    const bool stored = one.sh_type != SHT_NOBITS && one.sh_type != SHT_NULL;
    sections.push_back({StringAt(names, one.sh_name),
                        stored ? Part(file, one.sh_offset, one.sh_size) : std::string_view()});
  }
  return sections;
}

}  // namespace kbench::elf
