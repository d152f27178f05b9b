#include "client/output/display_width.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace kbench::client {
namespace {

struct Range {
  std::uint32_t first;
  std::uint32_t last;
};

// Marks that stand on the letter before them, and what joins or selects without being seen.
constexpr std::array kNoColumn = {
    Range{0x0300, 0x036f},  Range{0x0483, 0x0489}, Range{0x0591, 0x05bd}, Range{0x0610, 0x061a},
    Range{0x064b, 0x065f},  Range{0x1ab0, 0x1aff}, Range{0x1dc0, 0x1dff}, Range{0x200b, 0x200f},
    Range{0x20d0, 0x20ff},  Range{0xfe00, 0xfe0f}, Range{0xfe20, 0xfe2f}, Range{0xfeff, 0xfeff},
    Range{0xe0100, 0xe01ef}};
// East Asian wide letters, and the pictures that terminals draw two columns wide.
constexpr std::array kTwoColumns = {
    Range{0x1100, 0x115f},   Range{0x2e80, 0x303e},   Range{0x3041, 0xa4cf},
    Range{0xac00, 0xd7a3},   Range{0xf900, 0xfaff},   Range{0xfe30, 0xfe6f},
    Range{0xff00, 0xff60},   Range{0xffe0, 0xffe6},   Range{0x1f300, 0x1f64f},
    Range{0x1f680, 0x1f6ff}, Range{0x1f900, 0x1f9ff}, Range{0x20000, 0x3fffd}};

template <std::size_t N>
bool In(const std::array<Range, N>& ranges, std::uint32_t point) {
  return std::any_of(ranges.begin(), ranges.end(), [&](const Range& range) {
    return point >= range.first && point <= range.last;
  });
}

// The code point at `at` and its length in bytes; a byte that is no UTF-8 stands for itself.
std::uint32_t PointAt(const std::string& text, std::size_t at, std::size_t& length) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at);
  length = first < 0x80            ? 1
           : first >> 5 == 0b110   ? 2
           : first >> 4 == 0b1110  ? 3
           : first >> 3 == 0b11110 ? 4
                                   : 0;
  std::uint32_t point = length < 2 ? first : first & (0xffu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if (at + i >= text.size() || byte(at + i) >> 6 != 0b10) {
      length = 0;
      break;
    }
    point = point << 6 | (byte(at + i) & 0x3fu);
  }
  if (length == 0) {
    length = 1;
    return first;
  }
  return point;
}

std::size_t Columns(std::uint32_t point) {
  if (point < 0x300) return 1;
  if (In(kNoColumn, point)) return 0;
  return In(kTwoColumns, point) ? 2 : 1;
}

}  // namespace

std::size_t DisplayWidth(const std::string& text) {
  std::size_t width = 0;
  std::size_t length = 0;
  for (std::size_t at = 0; at < text.size(); at += length) {
    width += Columns(PointAt(text, at, length));
  }
  return width;
}

std::string CutToWidth(const std::string& text, std::size_t columns) {
  std::size_t width = 0;
  std::size_t length = 0;
  for (std::size_t at = 0; at < text.size(); at += length) {
    width += Columns(PointAt(text, at, length));
    if (width > columns) return text.substr(0, at);
  }
  return text;
}

}  // namespace kbench::client
