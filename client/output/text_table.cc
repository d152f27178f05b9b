#include "client/output/text_table.h"

#include <algorithm>
#include <numeric>
#include <sstream>
#include <utility>

#include "client/output/display_width.h"

namespace kbench::client {
namespace {

constexpr std::size_t kGap = 2;

std::string Pad(const std::string& text, std::size_t width, bool right) {
  const std::size_t columns = DisplayWidth(text);
  if (columns >= width) return text;
  const std::string space(width - columns, ' ');
  return right ? space + text : text + space;
}

std::string TrimRight(std::string line) {
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

// "7.0 %" stays together.
std::vector<std::string> Words(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) {
    word = Plain(std::move(word));
    if (word[0] == '%' && !words.empty()) {
      words.back() += " " + word;
    } else {
      words.push_back(word);
    }
  }
  return words;
}

std::vector<std::size_t> ColumnWidths(const TextTable& table) {
  std::vector<std::size_t> widths;
  for (const std::string& cell : table.header) widths.push_back(DisplayWidth(cell));
  for (const auto& row : table.rows) {
    const bool whole = row.size() == table.header.size();
    for (std::size_t i = 0; i < row.size(); ++i) {
      // The last cell of a short row does not make a column wider.
      if (whole || i + 1 < row.size()) widths[i] = std::max(widths[i], DisplayWidth(row[i]));
    }
  }
  return widths;
}

std::size_t Total(const std::vector<std::size_t>& widths) {
  return std::accumulate(widths.begin(), widths.end(), kGap * (widths.size() - 1));
}

}  // namespace

std::string Plain(std::string text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x20 || byte == 0x7f) text[i] = '?';
    // U+0080 to U+009F: terminals take some of them for escape sequences too.
    if (byte == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0) {
      text.replace(i, 2, "?");
    }
  }
  return text;
}

std::string Cut(const std::string& raw, std::size_t width) {
  const std::string text = Plain(raw);
  return DisplayWidth(text) <= width ? text : CutToWidth(text, width - 1) + "~";
}

std::string Wrap(const std::string& text, std::size_t width, std::size_t indent) {
  std::string out;
  std::string line;
  for (const std::string& word : Words(text)) {
    if (!line.empty() && line.find_first_not_of(' ') != std::string::npos &&
        DisplayWidth(line) + 1 + DisplayWidth(word) > width) {
      out += line + "\n";
      line = std::string(indent, ' ');
    }
    const bool fresh = line.find_first_not_of(' ') == std::string::npos;
    line += fresh ? word : " " + word;
  }
  return out + line;
}

std::size_t TextTable::Width() const { return Total(ColumnWidths(*this)); }

std::string TextTable::ToString() const {
  std::vector<std::size_t> widths = ColumnWidths(*this);
  const std::size_t total = Total(widths);
  if (total > width) {
    const std::size_t excess = total - width;
    widths[0] = widths[0] > excess + 8 ? widths[0] - excess : 8;
  }
  const auto is_right = [&](std::size_t i) { return i < right.size() && right[i]; };
  std::string out;
  const auto add = [&](const std::vector<std::string>& row) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) line += std::string(kGap, ' ');
      const bool spans = i + 1 == row.size() && row.size() < header.size();
      if (spans) {
        const std::size_t indent = DisplayWidth(line);
        line += Wrap(row[i], std::max(width > indent ? width - indent : 0, width / 3), 0);
        for (std::size_t at = line.find('\n'); at != std::string::npos;
             at = line.find('\n', at + 1 + indent)) {
          line.insert(at + 1, std::string(indent, ' '));
        }
      } else {
        line += Pad(i == 0 ? Cut(row[i], widths[i]) : Plain(row[i]), widths[i], is_right(i));
      }
    }
    out += TrimRight(line) + "\n";
  };
  add(header);
  for (const auto& row : rows) add(row);
  return out;
}

}  // namespace kbench::client
