// Reading device code out of a program's bytes: good ones, made up here and by nvcc, and broken
// ones.
#include "worker/fatbin/fatbin.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "kernels/elf/elf.h"

namespace kbench::fatbin {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

template <typename T>
void Put(std::string* bytes, std::size_t offset, T value) {
  std::memcpy(bytes->data() + offset, &value, sizeof(value));
}

constexpr std::uint64_t kPlain = 0x11;
constexpr std::uint64_t kAlone = 0x100011;

std::string EntryBytes(int kind, std::uint32_t capability, std::uint64_t flags,
                       std::string payload) {
  payload.resize((payload.size() + 7) / 8 * 8, '\0');
  std::string bytes(64, '\0');
  Put<std::uint16_t>(&bytes, 0, static_cast<std::uint16_t>(kind));
  Put<std::uint16_t>(&bytes, 2, 0x101);
  Put<std::uint32_t>(&bytes, 4, 64);
  Put<std::uint64_t>(&bytes, 8, payload.size());
  Put<std::uint32_t>(&bytes, 28, capability);
  Put<std::uint64_t>(&bytes, 40, flags);
  return bytes + payload;
}

std::string Container(const std::string& entries) {
  std::string bytes(16, '\0');
  Put<std::uint32_t>(&bytes, 0, 0xBA55ED50);
  Put<std::uint16_t>(&bytes, 4, 1);
  Put<std::uint16_t>(&bytes, 6, 16);
  Put<std::uint64_t>(&bytes, 8, entries.size());
  return bytes + entries;
}

// An ELF file whose one section of content has this name.
std::string ElfBytes(const std::string& name, const std::string& content) {
  const std::string names = std::string(1, '\0') + name + '\0' + ".shstrtab" + '\0';
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 3;
  header.e_shstrndx = 2;
  header.e_shoff = sizeof(header) + content.size() + names.size();
  Elf64_Shdr sections[3] = {};
  sections[1].sh_name = 1;
  sections[1].sh_type = SHT_PROGBITS;
  sections[1].sh_offset = sizeof(header);
  sections[1].sh_size = content.size();
  sections[2].sh_name = static_cast<Elf64_Word>(2 + name.size());
  sections[2].sh_type = SHT_STRTAB;
  sections[2].sh_offset = sizeof(header) + content.size();
  sections[2].sh_size = names.size();
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof(header));
  bytes += content + names;
  return bytes.append(reinterpret_cast<const char*>(sections), sizeof(sections));
}

std::string Ptx(const std::string& function) {
  return ".version 9.0\n.target sm_90a\n.visible .entry " + function + "(\n)\n{ret;}\n";
}

TEST(Elf, SectionsByName) {
  const std::string file = ElfBytes(".nv_fatbin", "content");
  const auto sections = elf::ElfSections(file);
  ASSERT_THAT(sections, SizeIs(3));
  EXPECT_EQ(sections[1].name, ".nv_fatbin");
  EXPECT_EQ(sections[1].content, "content");
}

TEST(Elf, WhatIsNoElfHasNoSections) {
  EXPECT_TRUE(elf::ElfSections("").empty());
  EXPECT_TRUE(elf::ElfSections("#!/bin/sh\n").empty());
  const std::string file = ElfBytes(".text", "x");
  for (std::size_t size = 0; size < file.size(); ++size) {
    elf::ElfSections(file.substr(0, size));  // whatever it says, it reads nothing outside
  }
  for (std::size_t i = 0; i < file.size(); ++i) {
    std::string broken = file;
    broken[i] = static_cast<char>(0xff);
    elf::ElfSections(broken);
  }
}

TEST(Fatbin, EntriesOfSeveralContainers) {
  const std::string section =
      Container(EntryBytes(1, 89, kPlain, Ptx("One")) + EntryBytes(2, 90, kAlone, "cubin")) +
      std::string(8, '\0') + Container(EntryBytes(1, 80, kPlain, Ptx("Two")));
  const Contents contents = ReadFatbin(section);
  EXPECT_EQ(contents.problem, "");
  ASSERT_THAT(contents.entries, SizeIs(3));
  EXPECT_EQ(contents.entries[0].Architecture(), "sm_89");
  EXPECT_EQ(contents.entries[0].bytes, Ptx("One")) << "without the padding";
  EXPECT_EQ(contents.entries[1].Architecture(), "sm_90a");
  EXPECT_EQ(contents.entries[1].kind, Kind::kCubin);
  EXPECT_EQ(contents.entries[2].bytes, Ptx("Two"));
}

TEST(Fatbin, CompressedEntriesAreCountedNotRead) {
  std::string entry = EntryBytes(1, 90, 0x8011, "packed");
  Put<std::uint32_t>(&entry, 16, 6);
  Put<std::uint64_t>(&entry, 56, 100);
  const Contents contents = ReadFatbin(Container(entry));
  EXPECT_EQ(contents.compressed, 1);
  EXPECT_TRUE(contents.entries.empty());
  EXPECT_EQ(contents.problem, "");
}

TEST(Fatbin, WhatLooksOtherwiseIsRefused) {
  EXPECT_THAT(ReadFatbin(std::string(16, 'x')).problem, HasSubstr("no container"));
  std::string longer = Container(EntryBytes(1, 90, kPlain, "x"));
  Put<std::uint64_t>(&longer, 8, 1 << 20);
  EXPECT_THAT(ReadFatbin(longer).problem, HasSubstr("no container"));
  std::string entry = EntryBytes(1, 90, kPlain, "x");
  Put<std::uint64_t>(&entry, 8, ~std::uint64_t{0});
  EXPECT_THAT(ReadFatbin(Container(entry)).problem, HasSubstr("no entry"));
  entry = EntryBytes(1, 90, kPlain, "x");
  Put<std::uint32_t>(&entry, 4, 8);
  EXPECT_THAT(ReadFatbin(Container(entry)).problem, HasSubstr("no entry"));
  EXPECT_TRUE(ReadFatbin("").entries.empty());
  EXPECT_EQ(ReadFatbin("").problem, "");
}

TEST(Fatbin, NoByteThatIsWrongReadsOutside) {
  const std::string section = Container(EntryBytes(1, 89, kPlain, Ptx("One")) +
                                        EntryBytes(2, 90, kPlain, ElfBytes(".text.One", "x")));
  for (std::size_t i = 0; i < section.size(); ++i) {
    for (const int value : {0, 0x7f, 0xff}) {
      std::string broken = section;
      broken[i] = static_cast<char>(value);
      for (const Entry& entry : ReadFatbin(broken).entries) Holds(entry, "One");
    }
    for (const Entry& entry : ReadFatbin(section.substr(0, i)).entries) Holds(entry, "One");
  }
}

TEST(Fatbin, AFunctionIsFoundByItsWholeName) {
  const std::string cubin = ElfBytes(".text.Kernel", "code");
  const std::string ptx = ".entry Kernel2(\n.entry\tOther\n(";
  EXPECT_TRUE(Holds({Kind::kCubin, 90, "", cubin}, "Kernel"));
  EXPECT_FALSE(Holds({Kind::kCubin, 90, "", cubin}, "Kern"));
  EXPECT_TRUE(Holds({Kind::kPtx, 90, "", ptx}, "Kernel2"));
  EXPECT_TRUE(Holds({Kind::kPtx, 90, "", ptx}, "Other"));
  EXPECT_FALSE(Holds({Kind::kPtx, 90, "", ptx}, "Kernel"));
  EXPECT_FALSE(Holds({Kind::kPtx, 90, "", ptx}, ""));
}

TEST(Fatbin, TheNearestCodeThatRunsIsChosen) {
  const std::string cubin = ElfBytes(".text.K", "code");
  const std::string ptx = Ptx("K");
  std::vector<Entry> entries = {{Kind::kCubin, 80, "", cubin},   {Kind::kCubin, 89, "", cubin},
                                {Kind::kCubin, 90, "", cubin},   {Kind::kCubin, 90, "a", cubin},
                                {Kind::kCubin, 100, "a", cubin}, {Kind::kPtx, 80, "", ptx},
                                {Kind::kPtx, 90, "a", ptx}};
  const auto architectures = [&](int capability) {
    const Choice choice = Choose(entries, "K", capability);
    return (choice.cubin == nullptr ? "-" : choice.cubin->Architecture()) + " " +
           (choice.ptx == nullptr ? "-" : choice.ptx->Architecture());
  };
  EXPECT_EQ(architectures(90), "sm_90a sm_90a");
  EXPECT_EQ(architectures(89), "sm_89 sm_80");
  EXPECT_EQ(architectures(86), "sm_80 sm_80");
  EXPECT_EQ(architectures(75), "- -");
  EXPECT_EQ(architectures(120), "- sm_80") << "a cubin runs in its own major version";
  EXPECT_EQ(Choose(entries, "Other", 90).cubin, nullptr);
}

#ifdef KBENCH_FATBIN_SAMPLE
TEST(Fatbin, WhatNvccWrites) {
  std::ifstream file(KBENCH_FATBIN_SAMPLE, std::ios::binary);
  const std::string object{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  std::string_view section;
  for (const elf::Section& one : elf::ElfSections(object)) {
    if (one.name == ".nv_fatbin") section = one.content;
  }
  const Contents contents = ReadFatbin(section);
  EXPECT_EQ(contents.problem, "");
  EXPECT_EQ(contents.compressed, 0);
  ASSERT_THAT(contents.entries, SizeIs(4)) << "PTX and cubin of two architectures";
  const Choice hopper = Choose(contents.entries, "SampleKernel", 90);
  ASSERT_NE(hopper.cubin, nullptr);
  ASSERT_NE(hopper.ptx, nullptr);
  EXPECT_EQ(hopper.cubin->Architecture(), "sm_90a");
  EXPECT_THAT(std::string(hopper.ptx->bytes), HasSubstr(".target sm_90a"));
  EXPECT_EQ(hopper.ptx->bytes.back(), '\n');
  const Choice ada = Choose(contents.entries, "SampleKernel", 89);
  ASSERT_NE(ada.cubin, nullptr);
  EXPECT_EQ(ada.cubin->Architecture(), "sm_89");
  EXPECT_EQ(Choose(contents.entries, "SampleKern", 90).cubin, nullptr);
}
#endif

}  // namespace
}  // namespace kbench::fatbin
