#include "worker/fatbin/fatbin.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstring>

#include "kernels/elf/elf.h"

namespace kbench::fatbin {
namespace {

constexpr std::uint32_t kMagic = 0xBA55ED50;
constexpr std::size_t kContainerHeader = 16;
// Of an entry, the part we know.
constexpr std::size_t kEntryHeader = 64;
constexpr std::uint32_t kMostEntryHeader = 4096;
constexpr std::size_t kAlignment = 8;
constexpr std::uint16_t kPtxKind = 1;
constexpr std::uint16_t kCubinKind = 2;
constexpr std::uint64_t kArchitectureAlone = 1 << 20;        // sm_90a
constexpr std::uint64_t kFamilyAlone = 1 << 21;              // sm_100f
constexpr std::uint64_t kCompressedFlags = 0x2000 | 0x8000;  // LZ4, Zstandard

// The caller has checked that the bytes are there.
template <typename T>
T At(std::string_view bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

std::string_view WithoutPadding(std::string_view text) {
  const std::size_t last = text.find_last_not_of('\0');
  return text.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

bool IsNamePart(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$';
}

// The entry at the front of `rest`, of which `*size` bytes are it. Nothing is added for kinds that
// hold no code of ours. False: it does not look like an entry.
bool ReadEntry(std::string_view rest, std::size_t* size, Contents* contents) {
  if (rest.size() < kEntryHeader) return false;
  const auto kind = At<std::uint16_t>(rest, 0);
  const auto header = At<std::uint32_t>(rest, 4);
  const auto payload = At<std::uint64_t>(rest, 8);
  if (header < kEntryHeader || header > kMostEntryHeader || header > rest.size() ||
      payload > rest.size() - header) {
    return false;
  }
  *size = header + static_cast<std::size_t>(payload);
  const auto flags = At<std::uint64_t>(rest, 40);
  const bool compressed = At<std::uint32_t>(rest, 16) != 0 || At<std::uint64_t>(rest, 56) != 0 ||
                          (flags & kCompressedFlags) != 0;
  if (kind != kPtxKind && kind != kCubinKind) return true;
  if (compressed) {
    ++contents->compressed;
    return true;
  }
  Entry entry;
  entry.kind = kind == kPtxKind ? Kind::kPtx : Kind::kCubin;
  entry.capability = static_cast<int>(At<std::uint32_t>(rest, 28));
  if ((flags & kArchitectureAlone) != 0) entry.suffix = "a";
  if ((flags & kFamilyAlone) != 0) entry.suffix = "f";
  entry.bytes = rest.substr(header, static_cast<std::size_t>(payload));
  if (entry.kind == Kind::kPtx) entry.bytes = WithoutPadding(entry.bytes);
  contents->entries.push_back(entry);
  return true;
}

// Where code for one device runs: anywhere above it for PTX, above it in the same major version for
// a cubin; of an architecture alone, there alone. Of a family only its own members are known to run
// it, of which the device itself is one.
bool RunsOn(const Entry& entry, int capability) {
  if (!entry.suffix.empty()) return entry.capability == capability;
  if (entry.capability > capability) return false;
  return entry.kind == Kind::kPtx || entry.capability / 10 == capability / 10;
}

// Whether `entry` is nearer to the device than `best`; both run on it.
bool IsNearer(const Entry& entry, const Entry* best) {
  if (best == nullptr || entry.capability != best->capability) {
    return best == nullptr || entry.capability > best->capability;
  }
  return entry.suffix == "a" && best->suffix != "a";
}

}  // namespace

Contents ReadFatbin(std::string_view section) {
  Contents contents;
  std::size_t at = 0;
  while (section.size() - at >= kContainerHeader) {
    const auto magic = At<std::uint32_t>(section, at);
    if (magic == 0) {  // between the containers of two files
      at += kAlignment;
      continue;
    }
    const auto header = At<std::uint16_t>(section, at + 6);
    const auto size = At<std::uint64_t>(section, at + 8);
    if (magic != kMagic || header < kContainerHeader || header > section.size() - at ||
        size > section.size() - at - header) {
      contents.problem = "no container of device code at byte " + std::to_string(at);
      return contents;
    }
    std::string_view rest = section.substr(at + header, static_cast<std::size_t>(size));
    at += header + static_cast<std::size_t>(size);
    while (!rest.empty()) {
      std::size_t taken = 0;
      if (!ReadEntry(rest, &taken, &contents)) {
        contents.problem = "no entry of device code at byte " + std::to_string(at - rest.size());
        return contents;
      }
      rest.remove_prefix(taken);
    }
  }
  return contents;
}

bool Holds(const Entry& entry, std::string_view function) {
  if (function.empty()) return false;
  if (entry.kind == Kind::kCubin) {
    const std::string section = ".text." + std::string(function);
    const std::vector<elf::Section> sections = elf::ElfSections(entry.bytes);
    return std::any_of(sections.begin(), sections.end(),
                       [&](const elf::Section& one) { return one.name == section; });
  }
  constexpr std::string_view kDirective = ".entry";
  for (std::size_t at = entry.bytes.find(kDirective); at != std::string_view::npos;
       at = entry.bytes.find(kDirective, at)) {
    at += kDirective.size();
    const std::size_t name = entry.bytes.find_first_not_of(" \t\r\n", at);
    if (name == std::string_view::npos || name == at) continue;
    const std::string_view rest = entry.bytes.substr(name);
    if (rest.substr(0, function.size()) != function) continue;
    if (rest.size() == function.size() || !IsNamePart(rest[function.size()])) return true;
  }
  return false;
}

Choice Choose(const std::vector<Entry>& entries, std::string_view function, int capability) {
  Choice choice;
  for (const Entry& entry : entries) {
    const Entry*& best = entry.kind == Kind::kPtx ? choice.ptx : choice.cubin;
    if (!RunsOn(entry, capability) || !IsNearer(entry, best)) continue;
    if (Holds(entry, function)) best = &entry;
  }
  return choice;
}

}  // namespace kbench::fatbin
