#include "worker/runner/build_id.h"

#include <elf.h>
#include <link.h>

#include <cstdint>
#include <cstring>
#include <utility>

namespace kbench {
namespace {

std::uint64_t RoundedUp(std::uint64_t size) { return (size + 3) / 4 * 4; }

// The NT_GNU_BUILD_ID among the notes of one segment.
std::string FindIn(const char* notes, std::uint64_t size) {
  ElfW(Nhdr) note;
  for (std::uint64_t at = 0; at + sizeof(note) <= size;) {
    std::memcpy(&note, notes + at, sizeof(note));
    const std::uint64_t name = at + sizeof(note);
    const std::uint64_t content = name + RoundedUp(note.n_namesz);
    at = content + RoundedUp(note.n_descsz);
    if (at > size) break;
    const bool gnu = note.n_namesz == 4 && std::memcmp(notes + name, "GNU", 4) == 0;
    if (!gnu || note.n_type != NT_GNU_BUILD_ID) continue;
    std::string digits;
    for (std::uint64_t i = 0; i < note.n_descsz; ++i) {
      const auto byte = static_cast<unsigned char>(notes[content + i]);
      digits += "0123456789abcdef"[byte >> 4];
      digits += "0123456789abcdef"[byte & 15];
    }
    return digits;
  }
  return "";
}

// The first object is the program itself.
int Visit(dl_phdr_info* info, std::size_t, void* out) {
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    const auto* notes = reinterpret_cast<const char*>(info->dlpi_addr + segment.p_vaddr);
    std::string found = FindIn(notes, segment.p_filesz);
    if (found.empty()) continue;
    *static_cast<std::string*>(out) = std::move(found);
    break;
  }
  return 1;
}

}  // namespace

std::string BuildId() {
  std::string id;
  dl_iterate_phdr(Visit, &id);
  return id;
}

}  // namespace kbench
