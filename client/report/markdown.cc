// A document as GitHub's Markdown.
#include <algorithm>
#include <cstddef>

#include "client/output/cell_text.h"
#include "client/output/text_table.h"
#include "client/report/document.h"

namespace kbench::client {
namespace {

// Text of others stays text: no emphasis, links or HTML of its own.
std::string Escaped(const std::string& text) {
  const std::string plain = Plain(text);
  std::string out;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    const char c = plain[i];
    if (c == '<') {
      out += "&lt;";
      continue;
    }
    // Brackets alone are those of intervals; before these they would make a link.
    const char next = i + 1 < plain.size() ? plain[i + 1] : ' ';
    const bool link = c == ']' && (next == '(' || next == '[' || next == ':');
    if (link || c == '`' || c == '\\' || c == '|' || c == '*') out += '\\';
    out += c;
  }
  return out;
}

std::string Row(const std::vector<TableCell>& cells, std::size_t width) {
  std::string line = "|";
  for (std::size_t i = 0; i < width; ++i) {
    line += " " + (i < cells.size() ? Escaped(cells[i].text) : "") + " |";
  }
  return line + "\n";
}

std::string Drawn(const ReportTable& table) {
  if (table.folded) return "";
  std::string text = table.title.empty() ? "" : "**" + Escaped(table.title) + "**\n\n";
  text += Row({table.header.begin(), table.header.end()}, table.header.size()) + "|";
  for (std::size_t i = 0; i < table.header.size(); ++i) {
    text += i < table.right.size() && table.right[i] ? "--:|" : ":--|";
  }
  text += "\n";
  for (const auto& row : table.rows) text += Row(row, table.header.size());
  return text + "\n";
}

std::string Drawn(const Paragraph& paragraph) { return Escaped(paragraph.text) + "\n\n"; }

std::string Drawn(const Bullets& bullets) {
  std::string text;
  for (const std::string& item : bullets.items) text += "* " + Escaped(item) + "\n";
  return text + "\n";
}

std::string Drawn(const CodeBlock& code) {
  std::string text;
  std::size_t begin = 0;
  while (begin < code.text.size()) {
    const std::size_t end = std::min(code.text.find('\n', begin), code.text.size());
    text += "    " + Plain(code.text.substr(begin, end - begin)) + "\n";
    begin = end + 1;
  }
  return text + "\n";
}

std::string Drawn(const Plot&) { return ""; }

}  // namespace

std::string ToMarkdown(const Document& document) {
  std::string text = "# " + Escaped(document.title) + "\n\n";
  if (!document.subtitle.empty()) text += Escaped(document.subtitle) + "\n\n";
  for (const ReportSection& section : document.sections) {
    text += "## " + Escaped(section.title) + "\n\n";
    for (const Block& block : section.blocks) {
      text += std::visit([](const auto& one) { return Drawn(one); }, block);
    }
  }
  while (text.size() > 1 && text[text.size() - 2] == '\n') text.pop_back();
  return text;
}

}  // namespace kbench::client
