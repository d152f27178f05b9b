// A document as one HTML page. It is well-formed XML too, so that a strict parser takes it.
#include <cctype>
#include <cstddef>

#include "client/output/text_table.h"
#include "client/report/document.h"

namespace kbench::client {
namespace {

constexpr char kStyle[] = R"(
:root{--page:#fcfcfb;--ink:#1c1f23;--soft:#5b636d;--line:#dfe2e6;--band:#f3f4f5;
--cuda:#2f7d32;--library:#5b636d;--torch:#d1480f;--triton:#1f5fbf;--aot:#8a3fa8;--other:#8a6d00;
--good:#1d6f42;--goodbg:#e2f2e8;--weak:#7a5800;--weakbg:#f9efd2;--bad:#a3242b;--badbg:#fae3e3}
@media (prefers-color-scheme:dark){:root{--page:#15181c;--ink:#e5e8eb;--soft:#9aa4af;--line:#30363d;
--band:#1c2126;--cuda:#6cc070;--library:#a7b0ba;--torch:#ff8f5c;--triton:#74a9ff;--aot:#cf93e8;
--other:#d8b640;--good:#84d6a4;--goodbg:#173626;--weak:#e6c66a;--weakbg:#3a3014;--bad:#ff9a9d;
--badbg:#431d20}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);
font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
main{max-width:1120px;margin:0 auto;padding:40px 24px 80px}
h1{font-size:28px;line-height:1.2;margin:0 0 6px;letter-spacing:-.01em}
h2{font-size:20px;margin:44px 0 10px;padding-top:14px;border-top:1px solid var(--line)}
h3{font-size:15px;margin:22px 0 6px}
p{margin:8px 0;max-width:78ch}
.sub{color:var(--soft);margin:0 0 18px;max-width:none}
nav{margin:18px 0 0;font-size:14px;line-height:1.9}
nav a{color:var(--triton);text-decoration:none;margin-right:16px;white-space:nowrap}
nav a:hover{text-decoration:underline}
ul{margin:8px 0;padding-left:20px;max-width:78ch}
li{margin:3px 0}
pre{background:var(--band);border:1px solid var(--line);border-radius:6px;padding:10px 12px;
overflow-x:auto;font:13px/1.5 ui-monospace,"SF Mono",Menlo,"DejaVu Sans Mono",monospace}
.scroll{overflow-x:auto;margin:10px 0 16px}
table{border-collapse:collapse;font-size:13.5px;font-variant-numeric:tabular-nums}
th{text-align:left;font-weight:600;color:var(--soft);border-bottom:1.5px solid var(--line);
padding:5px 14px 5px 0;white-space:nowrap;vertical-align:bottom}
td{padding:4px 12px 4px 0;border-bottom:1px solid var(--line);vertical-align:top}
td.r,th.r{text-align:right}
td.n{white-space:nowrap}
tbody tr:hover{background:var(--band)}
.good,.weak,.bad{display:inline-block;padding:0 8px;border-radius:9px;white-space:nowrap}
.good{color:var(--good);background:var(--goodbg)}
.weak{color:var(--weak);background:var(--weakbg)}
.bad{color:var(--bad);background:var(--badbg)}
.faint{color:var(--soft)}
details{margin:10px 0}
summary{cursor:pointer;color:var(--triton)}
figure{margin:14px 0 20px}
figcaption{color:var(--soft);font-size:13.5px;max-width:78ch;margin-top:4px}
svg{display:block;max-width:100%;height:auto}
svg text{font:12px system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;fill:var(--ink)}
svg .soft{fill:var(--soft)}
svg .title{font-weight:600;font-size:13px}
svg .grid{stroke:var(--line);stroke-width:1;fill:none}
svg .axis{stroke:var(--soft);stroke-width:1;fill:none}
svg .one{stroke:var(--soft);stroke-width:1.2;stroke-dasharray:4 3;fill:none}
svg .roof{stroke:var(--ink);stroke-width:1.6;fill:none}
svg .peak{stroke:var(--soft);stroke-width:1.2;stroke-dasharray:6 4;fill:none}
svg .zone{fill:var(--band)}
svg .cuda{color:var(--cuda)}svg .library{color:var(--library)}svg .torch{color:var(--torch)}
svg .triton{color:var(--triton)}svg .aot{color:var(--aot)}svg .other{color:var(--other)}
svg .mark{fill:currentColor;stroke:var(--page);stroke-width:1}
svg .hollow{fill:var(--page);stroke:currentColor;stroke-width:1.8}
svg .link{stroke:currentColor;stroke-width:1.8;fill:none}
svg .bar{stroke:currentColor;stroke-width:1.4;fill:none}
svg .small{opacity:.35}
@media print{nav{display:none}h2{break-after:avoid}figure,tr{break-inside:avoid}}
)";

const char* ClassOf(Tone tone) {
  switch (tone) {
    case Tone::kGood:
      return "good";
    case Tone::kWeak:
      return "weak";
    case Tone::kBad:
      return "bad";
    case Tone::kFaint:
      return "faint";
    case Tone::kPlain:
      break;
  }
  return "";
}

// Numbers and names must not break across lines; sentences must.
constexpr std::size_t kSentence = 32;

std::string Cell(const TableCell& cell, bool right) {
  std::string classes = right ? "r" : "";
  if (cell.text.size() < kSentence) classes += classes.empty() ? "n" : " n";
  std::string text = HtmlText(cell.text);
  if (cell.tone != Tone::kPlain) {
    text = std::string("<span class=\"") + ClassOf(cell.tone) + "\">" + text + "</span>";
  }
  return (classes.empty() ? "<td>" : "<td class=\"" + classes + "\">") + text + "</td>";
}

std::string Drawn(const ReportTable& table) {
  const auto right = [&](std::size_t i) { return i < table.right.size() && table.right[i]; };
  std::string text = "<div class=\"scroll\"><table><thead><tr>";
  for (std::size_t i = 0; i < table.header.size(); ++i) {
    text += (right(i) ? "<th class=\"r\">" : "<th>") + HtmlText(table.header[i]) + "</th>";
  }
  text += "</tr></thead><tbody>\n";
  for (const auto& row : table.rows) {
    text += "<tr>";
    for (std::size_t i = 0; i < table.header.size(); ++i) {
      text += Cell(i < row.size() ? row[i] : TableCell(""), right(i));
    }
    text += "</tr>\n";
  }
  text += "</tbody></table></div>\n";
  const std::string title = HtmlText(table.title);
  if (table.folded) return "<details><summary>" + title + "</summary>" + text + "</details>\n";
  return title.empty() ? text : "<h3>" + title + "</h3>\n" + text;
}

std::string Drawn(const Paragraph& paragraph) {
  return "<p>" + HtmlText(paragraph.text) + "</p>\n";
}

std::string Drawn(const Bullets& bullets) {
  std::string text = "<ul>\n";
  for (const std::string& item : bullets.items) text += "<li>" + HtmlText(item) + "</li>\n";
  return text + "</ul>\n";
}

std::string Drawn(const CodeBlock& code) {
  std::string text = "<pre>";
  for (const char c : code.text) text += c == '\n' ? "\n" : HtmlText(std::string(1, c));
  return text + "</pre>\n";
}

std::string Drawn(const Plot& plot) {
  return "<figure>" + plot.svg + "<figcaption>" + HtmlText(plot.caption) +
         "</figcaption></figure>\n";
}

}  // namespace

std::string HtmlText(const std::string& text) {
  std::string out;
  for (const char c : Plain(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string ToHtml(const Document& document) {
  std::string text =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
      "<meta name=\"color-scheme\" content=\"light dark\"/>\n<title>" +
      HtmlText(document.title) + "</title>\n<style>" + kStyle +
      "</style>\n</head>\n<body>\n<main>\n";
  text += "<h1>" + HtmlText(document.title) + "</h1>\n<p class=\"sub\">" +
          HtmlText(document.subtitle) + "</p>\n<nav>";
  for (const ReportSection& section : document.sections) {
    text += "<a href=\"#" + HtmlText(section.anchor) + "\">" + HtmlText(section.title) + "</a> ";
  }
  text += "</nav>\n";
  for (const ReportSection& section : document.sections) {
    text += "<section id=\"" + HtmlText(section.anchor) + "\">\n<h2>" + HtmlText(section.title) +
            "</h2>\n";
    for (const Block& block : section.blocks) {
      text += std::visit([](const auto& one) { return Drawn(one); }, block);
    }
    text += "</section>\n";
  }
  return text + "</main>\n</body>\n</html>\n";
}

}  // namespace kbench::client
