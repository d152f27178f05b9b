// A report before it is drawn: sections of text, tables and plots. What Markdown and HTML are made
// of. Plain values.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace kbench::client {

// How a cell is meant, where that is worth a colour.
enum class Tone { kPlain, kGood, kWeak, kBad, kFaint };

struct TableCell {
  std::string text;
  Tone tone = Tone::kPlain;

  TableCell(std::string words) : text(std::move(words)) {}  // NOLINT: a text is a cell
  TableCell(const char* words) : text(words) {}             // NOLINT
  TableCell(std::string words, Tone meant) : text(std::move(words)), tone(meant) {}
};

struct ReportTable {
  std::vector<std::string> header;
  std::vector<bool> right;  // columns set to the right; missing: left
  std::vector<std::vector<TableCell>> rows;
  bool folded = false;  // HTML shows it when asked; Markdown leaves it out
  std::string title = {};
};

struct Paragraph {
  std::string text;
};
struct Bullets {
  std::vector<std::string> items;
};
struct CodeBlock {
  std::string text;
};
// Markdown has no plots, so it leaves them out.
struct Plot {
  std::string svg;
  std::string caption;
};

using Block = std::variant<Paragraph, Bullets, CodeBlock, ReportTable, Plot>;

struct ReportSection {
  std::string title;
  std::string anchor;
  std::vector<Block> blocks;
};

struct Document {
  std::string title;
  std::string subtitle;
  std::vector<ReportSection> sections;
};

// GitHub's Markdown.
std::string ToMarkdown(const Document& document);
// One page that loads nothing: styles and plots are inside, light or dark as the reader's system.
std::string ToHtml(const Document& document);
// Text as HTML and SVG take it; control bytes become '?'.
std::string HtmlText(const std::string& text);

}  // namespace kbench::client
