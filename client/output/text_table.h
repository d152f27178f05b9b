// Columns of plain text, aligned and at most 90 wide, without control bytes. Widths are those of a
// terminal (display_width.h). Pure; thread-safe.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace kbench::client {

inline constexpr std::size_t kTableWidth = 90;

struct TextTable {
  std::vector<std::string> header;
  // A row may have fewer cells than the header: its last one then runs to the right edge and wraps.
  std::vector<std::vector<std::string>> rows;
  // Columns whose cells are set to the right.
  std::vector<bool> right;
  std::size_t width = kTableWidth;  // at most; a first cell that is too long is cut

  // The width that whole rows need.
  std::size_t Width() const;
  // Lines end in a newline, without trailing spaces. A first cell that is too long is cut ("~").
  std::string ToString() const;
};

// With '?' for control bytes: text of others must not drive the reader's terminal. UTF-8 stays.
std::string Plain(std::string text);
// Words of `text` in lines of at most `width`; the lines after the first start with `indent`
// spaces.
std::string Wrap(const std::string& text, std::size_t width, std::size_t indent);
// Cut to `width`, with a ~ at the cut.
std::string Cut(const std::string& text, std::size_t width);

}  // namespace kbench::client
