#include "kernels/triton_aot/cubin_parameters.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "kernels/elf/elf.h"

namespace kbench::aot {
namespace {

// The section .nv.info.<kernel> is a list of attributes: a byte of format, a byte of attribute, and
// two bytes that are a value or the length of what follows. Nowhere documented; as ptxas of CUDA 12
// and 13 writes it.
constexpr unsigned kFormatSized = 0x04;
constexpr unsigned kParameterInfo = 0x17;  // EIATTR_KPARAM_INFO
constexpr std::size_t kHeader = 4;

// What the attribute holds of a parameter: index, ordinal, offset, and a word of which the bits
// from 18 on are the size.
struct ParameterInfo {
  std::uint32_t index;
  std::uint16_t ordinal;
  std::uint16_t offset;
  std::uint32_t size_and_space;
};
static_assert(sizeof(ParameterInfo) == 12);

struct Numbered {
  int ordinal = 0;
  Parameter parameter;
};

// Nothing where the section ends within an attribute.
std::optional<std::vector<Numbered>> Read(std::string_view section) {
  std::vector<Numbered> found;
  while (!section.empty()) {
    if (section.size() < kHeader) return std::nullopt;
    const auto format = static_cast<unsigned char>(section[0]);
    const auto attribute = static_cast<unsigned char>(section[1]);
    std::uint16_t value = 0;
    std::memcpy(&value, section.data() + 2, sizeof(value));
    section.remove_prefix(kHeader);
    if (format != kFormatSized) continue;
    if (value > section.size()) return std::nullopt;
    if (attribute == kParameterInfo && value == sizeof(ParameterInfo)) {
      ParameterInfo info;
      std::memcpy(&info, section.data(), sizeof(info));
      found.push_back({info.ordinal, {info.offset, static_cast<int>(info.size_and_space >> 18)}});
    }
    section.remove_prefix(value);
  }
  return found;
}

std::string Text(const std::vector<int>& sizes) {
  std::string text;
  for (int size : sizes) text += (text.empty() ? "" : ", ") + std::to_string(size);
  return text.empty() ? "none" : std::to_string(sizes.size()) + " (" + text + " bytes)";
}

}  // namespace

Expected<std::vector<Parameter>, std::string> ParametersOf(std::string_view cubin,
                                                           std::string_view function) {
  const std::string wanted = ".nv.info." + std::string(function);
  const std::vector<elf::Section> sections = elf::ElfSections(cubin);
  const auto section = std::find_if(sections.begin(), sections.end(),
                                    [&](const auto& each) { return each.name == wanted; });
  if (sections.empty()) return std::string("is no ELF file");
  if (section == sections.end()) return "has no section " + wanted;
  std::optional<std::vector<Numbered>> found = Read(section->content);
  if (!found) return wanted + " ends within an attribute";
  std::sort(found->begin(), found->end(),
            [](const auto& a, const auto& b) { return a.ordinal < b.ordinal; });
  std::vector<Parameter> parameters;
  for (const Numbered& each : *found) {
    if (each.ordinal != static_cast<int>(parameters.size())) {
      return wanted + " has no parameter " + std::to_string(parameters.size());
    }
    parameters.push_back(each.parameter);
  }
  return parameters;
}

int ParameterBytes(const Argument& argument) {
  return argument.kind == Argument::Kind::kInt32 ? 4 : 8;
}

std::optional<std::string> ParametersDisagree(const Index& index, const Launch& launch) {
  const std::string what = "the compiled " + std::string(launch.function);
  const auto parameters = ParametersOf(index.CubinOf(launch), launch.function);
  if (!parameters.ok()) return what + " " + parameters.error();
  std::vector<int> expected, actual;
  for (const Argument& argument : index.ArgumentsOf(launch)) {
    expected.push_back(ParameterBytes(argument));
  }
  expected.resize(expected.size() + static_cast<std::size_t>(launch.scratch_pointers), 8);
  for (const Parameter& parameter : *parameters) actual.push_back(parameter.bytes);
  if (actual == expected) return std::nullopt;
  return what + " has other parameters than its index says: " + Text(actual) + ", not " +
         Text(expected) + "; build kernels/triton_aot anew";
}

}  // namespace kbench::aot
