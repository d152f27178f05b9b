#include "client/output/cell_text.h"

#include <fmt/format.h>

#include <cctype>

#include "client/output/text_table.h"

namespace kbench::client {
namespace {

// Line breaks are quoted as they are; other control bytes of others would reach a terminal.
std::string Quote(std::string text) {
  for (char& c : text) {
    if (std::iscntrl(static_cast<unsigned char>(c)) != 0 && c != '\n' && c != '\r') c = '?';
  }
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

}  // namespace

std::string CsvLine(const std::vector<std::string>& cells) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) line += (i > 0 ? "," : "") + Quote(cells[i]);
  return line + "\r\n";
}

std::string CsvNumber(double value) { return value == 0 ? "" : fmt::format("{}", value); }

std::string MarkdownText(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return Plain(out);
}

std::string MarkdownRow(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (const std::string& cell : cells) line += " " + MarkdownText(cell) + " |";
  return line + "\n";
}

}  // namespace kbench::client
